"""Sum a few lines of a table, for eight or sixteen of its columns at once.

As in `bit_vectors`, numba does not generate the vector instructions by itself: in so
short a loop it cannot prove that the arrays read and written do not overlap. Here the
sums stay in vector registers from the first line to the last. LLVM splits a vector
where the processor's registers are shorter; the result has the same bits.

The sum after each line is kept, so that a row which starts with the same entries as the
row before it can continue from there.

Only compiled functions can use what is defined here.
"""

# numba has no types, and passes each intrinsic a typing context even if it is unused.
# mypy: disallow-untyped-decorators=False
# ruff: noqa: ARG001

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_INDEX = ir.IntType(32)
_SCALARS = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}


def _shuffled(builder: Any, vector: Any, lanes: list[int]) -> Any:
    """Select lanes of a vector."""
    mask = ir.Constant(ir.VectorType(_INDEX, len(lanes)), lanes)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _place(builder: Any, base: Any, start: Any, vector: Any) -> Any:
    """Point to the vector that starts at an element of an array."""
    return builder.bitcast(builder.gep(base, [start]), vector.as_pointer())


def _sum_rows(lanes: int, array_types: Any) -> Any:
    """Generate the code that sums `lanes` columns."""
    scalar = _SCALARS[array_types[2].dtype]
    vector = ir.VectorType(scalar, lanes)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data, indices, table, sums = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(array_types, args[:4], strict=True)
        )
        start, known, size, width, at = args[4:]
        align = array_types[2].dtype.bitwidth // 8

        def line_of(base: Any, number: Any) -> Any:
            place = builder.add(builder.mul(number, width), at)
            return _place(builder, base, place, vector)

        held = cgutils.alloca_once(builder, vector)
        builder.store(builder.load(line_of(sums, known), align=align), held)
        one = ir.Constant(known.type, 1)
        with cgutils.for_range_slice(builder, known, size, one, inc=True) as (p, _):
            place = builder.add(start, p)
            value = builder.load(builder.gep(data, [place]))
            column = builder.load(builder.gep(indices, [place]))
            line = builder.load(
                line_of(table, builder.zext(column, at.type)), align=align
            )
            undefined = ir.Constant(vector, ir.Undefined)
            spread = builder.insert_element(undefined, value, _INDEX(0))
            product = builder.fmul(_shuffled(builder, spread, [0] * lanes), line)
            total = builder.fadd(builder.load(held), product)
            builder.store(total, held)
            builder.store(total, line_of(sums, builder.add(p, one)), align=align)
        return context.get_dummy_value()

    return generate


@intrinsic
def sum_eight(
    typing: Any, data: Any, indices: Any, table: Any, sums: Any,
    start: Any, known: Any, size: Any, width: Any, at: Any,
) -> Any:  # fmt: skip
    """Add up weighted lines of a table, in the columns from `at` up to ``at + 8``.

    The entries of `data` from `start` on are the weights, and those of `indices` the
    lines. `table` and `sums` are flat arrays of lines of length `width`. Line p of
    `sums` is its line 0 plus the first p weighted lines. Lines up to `known` are given;
    the rest, up to line `size`, are written. All arrays have the same float dtype.
    """
    arrays = (data, indices, table, sums)
    signature = types.none(*arrays, *[types.intp] * 5)
    return signature, _sum_rows(8, arrays)


@intrinsic
def sum_sixteen(
    typing: Any, data: Any, indices: Any, table: Any, sums: Any,
    start: Any, known: Any, size: Any, width: Any, at: Any,
) -> Any:  # fmt: skip
    """Do the same in the columns from `at` up to ``at + 16``."""
    arrays = (data, indices, table, sums)
    signature = types.none(*arrays, *[types.intp] * 5)
    return signature, _sum_rows(16, arrays)


@intrinsic
def find_two_least(typing: Any, values: Any, first: Any, width: Any) -> Any:
    """Find the two least of ``values[first:first + width]``, ignoring NaN.

    `width` is a multiple of eight. The two are equal if the least value occurs twice.
    """
    scalar = _SCALARS[values.dtype]
    vector = ir.VectorType(scalar, 8)
    align = values.dtype.bitwidth // 8

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
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
            place = _place(builder, base, builder.add(start, at), vector)
            low, high = order(builder.load(place, align=align), builder.load(least))
            builder.store(low, least)
            builder.store(order(high, builder.load(second))[0], second)
        one, two = builder.load(least), builder.load(second)
        for step in (4, 2, 1):
            swapped = [lane ^ step for lane in range(8)]
            one, high = order(one, _shuffled(builder, one, swapped))
            two, _ = order(two, _shuffled(builder, two, swapped))
            two, _ = order(two, high)
        found = [builder.extract_element(v, _INDEX(0)) for v in (one, two)]
        return context.make_tuple(builder, signature.return_type, found)

    pair = types.UniTuple(values.dtype, 2)
    return pair(values, types.intp, types.intp), generate
