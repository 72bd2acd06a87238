"""Look up 64 bytes at once in tables of 32 bytes, and add the results in 16 bits.

A table is kept in vector registers. One processor instruction picks any of its bytes:
32 at once with AVX-512 VBMI, 16 from each half with AVX2. LLVM has no such instruction
that works on all processors, and numba does not generate it by itself. On a processor
with neither, `nearest_loops` does the same byte by byte.

Only compiled functions can use what is defined here.
"""

# numba has no types, and passes each intrinsic a typing context even if it is unused.
# mypy: disallow-untyped-decorators=False
# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

_LANES = 32
ROWS = 2 * _LANES
"""Number of rows whose bounds one call computes: two vectors share each table."""
_FEATURES = binding.get_host_cpu_features() if config.CPU_NAME is None else {}
_PERMUTES = all(_FEATURES.get(name) for name in ("avx512vbmi", "avx512vl"))
LOOKS_UP = _PERMUTES or bool(_FEATURES.get("avx2"))
"""Whether the processor has one of the two instructions."""

_HALF = 16
_BYTE, _WORD, _INDEX = ir.IntType(8), ir.IntType(16), ir.IntType(32)
_BYTES = ir.VectorType(_BYTE, _LANES)
_WORDS = ir.VectorType(_WORD, _LANES)


def _load(builder: Any, base: Any, start: Any, size: int) -> Any:
    place = builder.gep(base, [start])
    kind = ir.VectorType(_BYTE, size).as_pointer()
    return builder.load(builder.bitcast(place, kind), align=1)


def _twice(builder: Any, half: Any) -> Any:
    """Put 16 bytes into both halves of a vector, since the shuffle works on halves."""
    mask = ir.Constant(ir.VectorType(_INDEX, _LANES), [*range(_HALF)] * 2)
    return builder.shuffle_vector(half, ir.Constant(half.type, ir.Undefined), mask)


def _spread(builder: Any, value: Any) -> Any:
    undefined = ir.Constant(_WORDS, ir.Undefined)
    one = builder.insert_element(undefined, value, _INDEX(0))
    mask = ir.Constant(ir.VectorType(_INDEX, _LANES), [0] * _LANES)
    return builder.shuffle_vector(one, undefined, mask)


def _call(builder: Any, name: str, *vectors: Any) -> Any:
    """Call an instruction that takes two vectors of bytes."""
    kind = ir.FunctionType(_BYTES, [_BYTES, _BYTES])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, vectors)


def _look_up(builder: Any, table: Any, start: Any, codes: Any) -> Any:
    """Look codes below 32 up in the table that begins at `start`."""
    if _PERMUTES:
        whole = _load(builder, table, start, _LANES)
        return _call(builder, "llvm.x86.avx512.permvar.qi.256", whole, codes)
    after = builder.add(start, ir.Constant(start.type, _HALF))
    low, high = (
        _call(
            builder,
            "llvm.x86.avx2.pshuf.b",
            _twice(builder, _load(builder, table, at, _HALF)),
            codes,
        )
        for at in (start, after)
    )
    below = builder.icmp_unsigned("<", codes, ir.Constant(_BYTES, [_HALF] * _LANES))
    return builder.select(below, low, high)


@intrinsic
def add_looked_up(
    typing: Any, classes: Any, stride: Any, start: Any, table: Any, first: Any,
    n_features: Any, least: Any, bounds: Any,
) -> Any:  # fmt: skip
    """Compute the bounds of 64 rows; returns whether any is at least `least`.

    The class of row r in feature j is ``classes[j * stride + start + r]``, below 32.
    Its score is ``table[first + 32 * j + class]``, below 128. The sums of the scores
    are written to `bounds`. The number of features must be even.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held, step, at, scores, begin, size, limit, out = args
        bytes_of, scores_of, bounds_of = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in ((classes, held), (table, scores), (bounds, out))
        )
        halves = [
            cgutils.alloca_once_value(builder, ir.Constant(_WORDS, [0] * _LANES))
            for _ in range(2)
        ]

        def score(j: Any, half: int) -> Any:
            first_row = builder.add(at, ir.Constant(at.type, half * _LANES))
            place = builder.add(first_row, builder.mul(j, step))
            line = builder.add(begin, builder.mul(j, ir.Constant(j.type, _LANES)))
            codes = _load(builder, bytes_of, place, _LANES)
            return _look_up(builder, scores_of, line, codes)

        zero, one, two = (ir.Constant(size.type, number) for number in range(3))
        with cgutils.for_range_slice(builder, zero, size, two, inc=True) as (j, _):
            for half, total in enumerate(halves):
                pair = builder.add(score(j, half), score(builder.add(j, one), half))
                added = builder.add(builder.load(total), builder.zext(pair, _WORDS))
                builder.store(added, total)
        found = ir.IntType(_LANES)(0)
        for half, total in enumerate(halves):
            sums = builder.load(total)
            place = builder.gep(bounds_of, [ir.Constant(at.type, half * _LANES)])
            builder.store(sums, builder.bitcast(place, _WORDS.as_pointer()), align=2)
            enough = builder.icmp_unsigned(">=", sums, _spread(builder, limit))
            found = builder.or_(found, builder.bitcast(enough, ir.IntType(_LANES)))
        return builder.icmp_unsigned("!=", found, ir.IntType(_LANES)(0))

    signature = types.boolean(
        classes, types.intp, types.intp, table, types.intp, types.intp, types.uint16,
        bounds,
    )  # fmt: skip
    return signature, generate
