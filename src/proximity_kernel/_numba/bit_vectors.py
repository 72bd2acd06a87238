"""Eight 64-bit words as one value: 512 rows in one machine instruction.

Numba turns a loop over words into vector instructions only when it can prove that the
arrays it writes and those it reads do not overlap. In short loops over many arrays it
cannot. `Lanes` is the vector itself: a type that compiled code can load, combine
with ``&``, ``|``, ``^`` and ``~``, and store. LLVM splits it in two or four where
the processor's registers are shorter. Counting the shared codes of 512 rows over
44 features takes 50 ns this way, 385 ns word by word (docs/decisions/0002).

Only compiled functions can use what is defined here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

WORDS = 8
"""Words in a `Lanes` value."""

ROWS = 64 * WORDS
"""Bits in a `Lanes` value, which is the number of rows in a block."""

_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, WORDS)
_INDEX = ir.IntType(32)


class Lanes(types.Type):  # type: ignore[misc]  # numba has no types
    """Numba's type of eight words held in vector registers."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]  # numba has no types
    """How compiled code holds a `Lanes`: as an LLVM vector."""

    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)


def _address(
    context: Any, builder: Any, array_type: Any, array: Any, start: Any
) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), _VECTOR.as_pointer())


@intrinsic
def load(typing: Any, words: Any, start: Any) -> Any:
    """Eight words of a flat uint64 array from index `start` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        where = _address(context, builder, signature.args[0], *args)
        return builder.load(where, align=8)

    return _lanes(words, types.intp), generate


@intrinsic
def store(typing: Any, words: Any, start: Any, value: Any) -> Any:
    """Write `value` to a flat uint64 array from index `start` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        where = _address(context, builder, signature.args[0], *args[:2])
        builder.store(args[2], where, align=8)
        return context.get_dummy_value()

    return types.none(words, types.intp, _lanes), generate


def _constant(word: int) -> Any:
    @intrinsic
    def constant(typing: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(_VECTOR, [word] * WORDS)

        return _lanes(), generate

    return constant


every_row = _constant(2**64 - 1)


def _call(builder: Any, name: str, result: Any, value: Any) -> Any:
    """Call an LLVM intrinsic that takes one vector."""
    kind = ir.FunctionType(result, [_VECTOR])
    name = f"llvm.{name}.v{WORDS}i64"
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, name), [value]
    )


@intrinsic
def any_row(typing: Any, value: Any) -> Any:
    """Whether any bit is set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = _call(builder, "vector.reduce.or", _WORD, args[0])
        return builder.icmp_unsigned("!=", word, _WORD(0))

    return types.boolean(_lanes), generate


@intrinsic
def count_rows(typing: Any, value: Any) -> Any:
    """How many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counts = _call(builder, "ctpop", _VECTOR, args[0])
        return _call(builder, "vector.reduce.add", _WORD, counts)

    return types.int64(_lanes), generate


@intrinsic
def lowest_bit(typing: Any, word: Any) -> Any:
    """Position of the lowest set bit of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


def _elementwise(instruction: str) -> Callable[..., Any]:
    """Let compiled code write an operator between two `Lanes`."""

    @intrinsic
    def combine(typing: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args)

        return _lanes(_lanes, _lanes), generate

    # Numba wants the same bare argument names here and in what is returned.
    def choose(a, b):  # type: ignore[no-untyped-def]
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: combine(a, b)
        return None

    return choose


overload(operator.and_)(_elementwise("and_"))
overload(operator.or_)(_elementwise("or_"))
overload(operator.xor)(_elementwise("xor"))


# Without annotations for the reason given above.
@overload(operator.invert)
def _invert(value):  # type: ignore[no-untyped-def]
    if isinstance(value, Lanes):
        return lambda value: value ^ every_row()
    return None
