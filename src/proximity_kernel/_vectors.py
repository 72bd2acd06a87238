"""SIMD vectors for compiled loops: instructions that numba would not generate.

*Bits.* Eight 64-bit words as one value: 512 rows in one instruction. Numba turns a loop
over words into vector instructions only when it can prove that the arrays it writes and
those it reads do not overlap. In short loops over many arrays it cannot. `Lanes` is the
vector itself: a type that compiled code can load, combine with ``&``, ``|``, ``^`` and
``~``, and store. LLVM splits it in two or four where the processor's registers are
shorter. Counting the shared codes of 512 rows over 44 features takes 50 ns this way,
385 ns word by word (docs/decisions/0002).

*Bytes.* Look up 64 bytes at once in tables of 32 bytes, and add the results in 16 bits.
A table is kept in vector registers. One instruction picks any of its bytes: 32 at once
with AVX-512 VBMI, 16 from each half with AVX2. On a processor with neither, `_nearest`
looks up one byte after another.

*Floats.* Sum a few lines of a table, for eight of its columns at once. The
sums stay in vector registers from the first line to the last. LLVM splits a vector
where the processor's registers are shorter; the result has the same bits. The sum after
each line is stored. A row that starts with the same entries as the row before it
continues from the stored sum.

The functions of this module can be called only from compiled functions.
"""

# numba has no types, and passes each intrinsic a typing context even if it is unused.
# mypy: disallow-untyped-decorators=False

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic, models, overload, register_model

WORDS = 8
"""Number of 64-bit words in a `Lanes` value."""
BLOCK_ROWS = 64 * WORDS
"""Number of bits in a `Lanes` value: one for each row of a block."""
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, WORDS)
_INDEX = ir.IntType(32)
_LANES = 32
LOOKUP_ROWS = 2 * _LANES
"""Number of rows that one call of `add_looked_up` handles."""
_FEATURES = binding.get_host_cpu_features() if config.CPU_NAME is None else {}
_PERMUTES = all(_FEATURES.get(name) for name in ("avx512vbmi", "avx512vl"))
LOOKS_UP = _PERMUTES or bool(_FEATURES.get("avx2"))
"""Whether the processor can look up bytes in vector registers (AVX-512 or AVX2)."""
_HALF = 16
_BYTE, _SHORT = ir.IntType(8), ir.IntType(16)
_BYTES = ir.VectorType(_BYTE, _LANES)
_WORDS = ir.VectorType(_SHORT, _LANES)
_SCALARS = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}


class Lanes(types.Type):  # type: ignore[misc]  # numba has no types
    """Numba type of a vector of eight 64-bit words."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_lanes = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]  # numba has no types
    """Numba's data model of `Lanes`: an LLVM vector."""

    def __init__(self, manager: Any, numba_type: Any) -> None:
        super().__init__(manager, numba_type, _VECTOR)


def _word_pointer(
    context: Any, builder: Any, array_type: Any, array: Any, start: Any
) -> Any:
    """Return a pointer to the vector that starts at index `start` of an array."""
    data = context.make_array(array_type)(context, builder, array).data
    return _vector_pointer(builder, data, start, _VECTOR)


@intrinsic
def load(typing: Any, words: Any, start: Any) -> Any:
    """Load eight words of a flat uint64 array, from index `start` on, as `Lanes`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        where = _word_pointer(context, builder, signature.args[0], *args)
        return builder.load(where, align=8)

    return _lanes(words, types.intp), generate


@intrinsic
def store(typing: Any, words: Any, start: Any, value: Any) -> Any:
    """Store `value` in a flat uint64 array, from index `start` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        where = _word_pointer(context, builder, signature.args[0], *args[:2])
        builder.store(args[2], where, align=8)
        return context.get_dummy_value()

    return types.none(words, types.intp, _lanes), generate


@intrinsic
def all_bits(typing: Any) -> Any:
    """Return `Lanes` in which every bit is set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(_VECTOR, [2**64 - 1] * WORDS)

    return _lanes(), generate


def _call(builder: Any, name: str, result: Any, value: Any) -> Any:
    """Call an LLVM intrinsic that takes one vector."""
    kind = ir.FunctionType(result, [_VECTOR])
    name = f"llvm.{name}.v{WORDS}i64"
    return builder.call(
        cgutils.get_or_insert_function(builder.module, kind, name), [value]
    )


@intrinsic
def any_bit(typing: Any, value: Any) -> Any:
    """Return whether any bit of a `Lanes` value is set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = _call(builder, "vector.reduce.or", _WORD, args[0])
        return builder.icmp_unsigned("!=", word, _WORD(0))

    return types.boolean(_lanes), generate


@intrinsic
def count_bits(typing: Any, value: Any) -> Any:
    """Count the set bits of a `Lanes` value."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counts = _call(builder, "ctpop", _VECTOR, args[0])
        return _call(builder, "vector.reduce.add", _WORD, counts)

    return types.int64(_lanes), generate


@intrinsic
def lowest_bit(typing: Any, word: Any) -> Any:
    """Find the position of the lowest set bit of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


def _bitwise(instruction: str) -> Callable[..., Any]:
    """Make an overload that applies an LLVM instruction to two `Lanes`."""

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


overload(operator.and_)(_bitwise("and_"))


overload(operator.or_)(_bitwise("or_"))


overload(operator.xor)(_bitwise("xor"))


# Without annotations, because numba compares the bare argument names.
@overload(operator.invert)
def _invert(value):  # type: ignore[no-untyped-def]
    """Overload ``~`` for `Lanes`."""
    if isinstance(value, Lanes):
        return lambda value: value ^ all_bits()
    return None


def _vector_pointer(builder: Any, base: Any, start: Any, vector: Any) -> Any:
    """Return a pointer to the `vector` that starts at index `start` of an array."""
    return builder.bitcast(builder.gep(base, [start]), vector.as_pointer())


def _load_bytes(builder: Any, base: Any, start: Any, size: int) -> Any:
    """Load `size` bytes of an array as a vector, from index `start` on."""
    vector = ir.VectorType(_BYTE, size)
    return builder.load(_vector_pointer(builder, base, start, vector), align=1)


def _gather_lanes(builder: Any, vector: Any, lanes: list[int]) -> Any:
    """Gather lanes of a vector by their indices."""
    mask = ir.Constant(ir.VectorType(_INDEX, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _broadcast(builder: Any, value: Any, vector: Any) -> Any:
    """Broadcast a number to all lanes of a `vector`."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, _INDEX(0))
    return _gather_lanes(builder, one, [0] * vector.count)


def _call_bytes(builder: Any, name: str, *vectors: Any) -> Any:
    """Call the LLVM intrinsic `name`, which takes two vectors of bytes."""
    kind = ir.FunctionType(_BYTES, [_BYTES, _BYTES])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, vectors)


def _look_up_bytes(builder: Any, table: Any, start: Any, codes: Any) -> Any:
    """Look up codes below 32 in the 32-byte table that begins at `start`."""
    if _PERMUTES:
        whole = _load_bytes(builder, table, start, _LANES)
        return _call_bytes(builder, "llvm.x86.avx512.permvar.qi.256", whole, codes)
    after = builder.add(start, ir.Constant(start.type, _HALF))
    low, high = (
        _call_bytes(
            builder,
            "llvm.x86.avx2.pshuf.b",
            # Both halves alike, because AVX2 shuffles each half separately.
            _gather_lanes(
                builder, _load_bytes(builder, table, at, _HALF), [*range(_HALF)] * 2
            ),
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
    """Sum table lookups of 64 rows over features; return whether any reaches `least`.

    The class of row r in feature j is ``classes[j * stride + start + r]``, below 32.
    Its score is ``table[first + 32 * j + class]``, below 128. The sum of the scores of
    each row is written to `bounds`, (64,). `n_features` must be even.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Generate the loop over pairs of features."""
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
            codes = _load_bytes(builder, bytes_of, place, _LANES)
            return _look_up_bytes(builder, scores_of, line, codes)

        zero, one, two = (ir.Constant(size.type, number) for number in range(3))
        with cgutils.for_range_slice(builder, zero, size, two, inc=True) as (j, _):
            for half, total in enumerate(halves):
                pair = builder.add(score(j, half), score(builder.add(j, one), half))
                added = builder.add(builder.load(total), builder.zext(pair, _WORDS))
                builder.store(added, total)
        found = ir.IntType(_LANES)(0)
        for half, total in enumerate(halves):
            sums = builder.load(total)
            first = ir.Constant(at.type, half * _LANES)
            place = _vector_pointer(builder, bounds_of, first, _WORDS)
            builder.store(sums, place, align=2)
            enough = builder.icmp_unsigned(
                ">=", sums, _broadcast(builder, limit, _WORDS)
            )
            found = builder.or_(found, builder.bitcast(enough, ir.IntType(_LANES)))
        return builder.icmp_unsigned("!=", found, ir.IntType(_LANES)(0))

    signature = types.boolean(
        classes, types.intp, types.intp, table, types.intp, types.intp, types.uint16,
        bounds,
    )  # fmt: skip
    return signature, generate


@intrinsic
def sum_eight(
    typing: Any, data: Any, indices: Any, table: Any, sums: Any,
    start: Any, known: Any, size: Any, width: Any, at: Any,
) -> Any:  # fmt: skip
    """Multiply a sparse row by a dense table, in the columns ``at`` to ``at + 7``.

    The entries of `data` from `start` on are the values of the row, and those of
    `indices` their columns, which are lines of `table`. `table` and `sums` are flat
    arrays of lines of length `width`. Line p of `sums` is its line 0 plus the products
    of the first p entries. Lines up to `known` are given; the rest, up to line `size`,
    are written. `data`, `table` and `sums` have the same float dtype.
    """
    arrays = (data, indices, table, sums)
    vector = ir.VectorType(_SCALARS[table.dtype], 8)
    align = table.dtype.bitwidth // 8

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Generate the loop over the entries of a row."""
        data, indices, table, sums = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(arrays, args[:4], strict=True)
        )
        start, known, size, width, at = args[4:]

        def line_of(base: Any, number: Any) -> Any:
            place = builder.add(builder.mul(number, width), at)
            return _vector_pointer(builder, base, place, vector)

        sum_at = cgutils.alloca_once(builder, vector)
        builder.store(builder.load(line_of(sums, known), align=align), sum_at)
        one = ir.Constant(known.type, 1)
        with cgutils.for_range_slice(builder, known, size, one, inc=True) as (p, _):
            place = builder.add(start, p)
            value = builder.load(builder.gep(data, [place]))
            column = builder.load(builder.gep(indices, [place]))
            line = builder.load(
                line_of(table, builder.zext(column, at.type)), align=align
            )
            product = builder.fmul(_broadcast(builder, value, vector), line)
            total = builder.fadd(builder.load(sum_at), product)
            builder.store(total, sum_at)
            builder.store(total, line_of(sums, builder.add(p, one)), align=align)
        return context.get_dummy_value()

    return types.none(*arrays, *[types.intp] * 5), generate


@intrinsic
def find_two_least(typing: Any, values: Any, first: Any, width: Any) -> Any:
    """Find the two least of ``values[first:first + width]``, ignoring NaN.

    Returns two numbers, which are equal if the least number occurs twice. `width` is a
    multiple of eight.
    """
    scalar = _SCALARS[values.dtype]
    vector = ir.VectorType(scalar, 8)
    align = values.dtype.bitwidth // 8

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Generate the loop over vectors, then compare the lanes of the result."""
        base = context.make_array(values)(context, builder, args[0]).data
        start, size = args[1:]

        def order(a: Any, b: Any) -> tuple[Any, Any]:
            below = builder.fcmp_ordered("<", a, b)
            return builder.select(below, a, b), builder.select(below, b, a)

        least, second = (cgutils.alloca_once(builder, vector) for _ in range(2))
        infinite = ir.Constant(vector, [ir.Constant(scalar, float("inf"))] * 8)
        builder.store(infinite, least)
        builder.store(infinite, second)
        with cgutils.for_range_slice(
            builder, ir.Constant(size.type, 0), size, ir.Constant(size.type, 8),
            inc=True,
        ) as (at, _):  # fmt: skip
            place = _vector_pointer(builder, base, builder.add(start, at), vector)
            low, high = order(builder.load(place, align=align), builder.load(least))
            builder.store(low, least)
            builder.store(order(high, builder.load(second))[0], second)
        one, two = builder.load(least), builder.load(second)
        for step in (4, 2, 1):
            swapped = [lane ^ step for lane in range(8)]
            one, high = order(one, _gather_lanes(builder, one, swapped))
            two, _ = order(two, _gather_lanes(builder, two, swapped))
            two, _ = order(two, high)
        found = [builder.extract_element(v, _INDEX(0)) for v in (one, two)]
        return context.make_tuple(builder, signature.return_type, found)

    pair = types.UniTuple(values.dtype, 2)
    return pair(values, types.intp, types.intp), generate
