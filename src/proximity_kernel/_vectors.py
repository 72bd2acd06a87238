"""Sums of few look-ups in a table, for eight or sixteen of its columns at once.

As in `_lanes`, numba does not find the vector instructions by itself: in so short a
loop it cannot prove that what is written is not what is read. Here the sums stay in
vector registers from the first look-up to the last. LLVM splits a vector where the
processor's registers are shorter, with the same bits.

Only compiled functions can use what is defined here.
"""

# numba has no types, and calls an intrinsic with a typing context, used or not.
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


def _sum_rows(lanes: int, array_types: Any) -> Any:
    """Make the code that sums up `lanes` columns."""
    scalar = _SCALARS[array_types[3].dtype]
    vector = ir.VectorType(scalar, lanes)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data, indices, offsets, table, sums = (
            context.make_array(kind)(context, builder, value).data
            for kind, value in zip(array_types, args[:5], strict=True)
        )
        first, last, width, at = args[5:]

        def place(base: Any, start: Any) -> Any:
            return builder.bitcast(builder.gep(base, [start]), vector.as_pointer())

        align = array_types[3].dtype.bitwidth // 8
        held = cgutils.alloca_once(builder, vector)
        builder.store(builder.load(place(offsets, at), align=align), held)
        with cgutils.for_range_slice(
            builder, first, last, ir.Constant(first.type, 1), inc=True
        ) as (p, _):
            value = builder.load(builder.gep(data, [p]))
            column = builder.zext(builder.load(builder.gep(indices, [p])), at.type)
            start = builder.add(builder.mul(column, width), at)
            line = builder.load(place(table, start), align=align)
            undefined = ir.Constant(vector, ir.Undefined)
            spread = builder.insert_element(undefined, value, _INDEX(0))
            spread = builder.shuffle_vector(
                spread,
                undefined,
                ir.Constant(ir.VectorType(_INDEX, lanes), [0] * lanes),
            )
            product = builder.fmul(spread, line)
            builder.store(builder.fadd(builder.load(held), product), held)
        builder.store(builder.load(held), place(sums, at), align=align)
        return context.get_dummy_value()

    return generate


@intrinsic
def sum_eight(
    typing: Any, data: Any, indices: Any, offsets: Any, table: Any, sums: Any,
    first: Any, last: Any, width: Any, at: Any,
) -> Any:  # fmt: skip
    """Write to ``sums[at:at + 8]`` the offsets there plus weighted lines of a table.

    The entries of `data` from `first` up to `last` are the weights, those of `indices`
    the lines; `table` is flat, its lines `width` long. All of one float dtype.
    """
    arrays = (data, indices, offsets, table, sums)
    signature = types.none(*arrays, *[types.intp] * 4)
    return signature, _sum_rows(8, arrays)


@intrinsic
def sum_sixteen(
    typing: Any, data: Any, indices: Any, offsets: Any, table: Any, sums: Any,
    first: Any, last: Any, width: Any, at: Any,
) -> Any:  # fmt: skip
    """Do the same for ``sums[at:at + 16]``."""
    arrays = (data, indices, offsets, table, sums)
    signature = types.none(*arrays, *[types.intp] * 4)
    return signature, _sum_rows(16, arrays)
