"""Vector instructions between a leaf of query points and boxes, asked for by name as in :mod:`shoal.kernels.simd`.

Both give lower bounds that rounding cannot spoil: subtracting, squaring and adding round monotonically, so that a
bound computed in the same order as a distance is never larger than the distance.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types

from shoal.kernels.simd import _arguments, _Lanes, _sum_over_coordinates, intrinsic


@intrinsic
def scan_apart(typing, box, block, low, high, within, out):
    """``scan_apart(box, block, low, high, within, out)``: the least squared distance from one box to each of eight.

    `low` and `high` are the faces of the one box; ``box[block, 2j]`` and ``box[block, 2j + 1]`` those of the eight.
    Writes the distances to `out`; returns the mask of those ≤ `within`.
    """

    def generate(context, builder, signature, arguments):
        box, block, low, high, within, out = _arguments(context, builder, signature, arguments)
        lanes = _Lanes(builder, 8, box.element)
        width, pair = ir.Constant(block.type, lanes.width), ir.Constant(block.type, 2 * lanes.width)
        start = builder.mul(builder.mul(block, low.length), pair)

        def term(j):
            at = builder.add(start, builder.mul(j, pair))
            below = builder.fsub(lanes.load(box.data, at), lanes.splat(high[j]))
            above = builder.fsub(lanes.splat(low[j]), lanes.load(box.data, builder.add(at, width)))
            t = lanes.larger(lanes.larger(below, above), lanes.constant(0.0))
            return builder.fmul(t, t)

        total = _sum_over_coordinates(lanes, low.length, term)
        lanes.store(total, out.data)
        return lanes.mask(builder.fcmp_ordered("<=", total, lanes.splat(within)))

    return types.int64(box, types.intp, low, high, box.dtype, out), generate


@intrinsic
def scan_queries(typing, x, block, low, high, within):
    """``scan_queries(x, block, low, high, within)``: which of sixteen points have a box near enough.

    Returns the mask of the points whose squared distance to the box with faces `low` and `high` is at most their own
    entry of `within`. NaN is not.
    """

    def generate(context, builder, signature, arguments):
        x, block, low, high, within = _arguments(context, builder, signature, arguments)
        lanes = _Lanes(builder, 16, x.element)
        width = ir.Constant(block.type, lanes.width)
        start = builder.mul(builder.mul(block, low.length), width)

        def term(j):
            point = lanes.load(x.data, builder.add(start, builder.mul(j, width)))
            below = builder.fsub(lanes.splat(low[j]), point)
            above = builder.fsub(point, lanes.splat(high[j]))
            t = lanes.larger(lanes.larger(below, above), lanes.constant(0.0))
            return builder.fmul(t, t)

        total = _sum_over_coordinates(lanes, low.length, term)
        bounds = lanes.load(within.data, ir.Constant(block.type, 0))
        return lanes.mask(builder.fcmp_ordered("<=", total, bounds))

    return types.int64(x, types.intp, low, high, within), generate
