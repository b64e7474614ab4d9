"""Vector instructions, asked for by name.

Left to itself the compiler vectorises a loop over sixteen lanes or does not, as its mood takes it; here the vectors
are written down. Every function works on all lanes of one block of a C-contiguous (blocks, d, lanes) float64 array,
one coordinate after the other: what a lane holds is rounded exactly as the plain loop over its coordinates would
round it, for no operation is reordered or contracted.

A *mask* is an integer with one bit per lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_DOUBLE = ir.DoubleType()


class _Lanes:
    """Writes vector operations for one width into a function under construction."""

    def __init__(self, builder: Any, width: int) -> None:
        self.builder, self.width = builder, width
        self.type = ir.VectorType(_DOUBLE, width)

    def load(self, data: Any, offset: Any) -> Any:
        pointer = self.builder.gep(data, [offset])
        return self.builder.load(self.builder.bitcast(pointer, self.type.as_pointer()), align=8)

    def store(self, value: Any, data: Any) -> None:
        self.builder.store(value, self.builder.bitcast(data, self.type.as_pointer()), align=8)

    def splat(self, scalar: Any) -> Any:
        one = self.builder.insert_element(
            ir.Constant(self.type, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.width), [0] * self.width)
        return self.builder.shuffle_vector(one, one, zeros)

    def constant(self, value: float) -> Any:
        return ir.Constant(self.type, [value] * self.width)

    def larger(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def mask(self, condition: Any) -> Any:
        bits = self.builder.bitcast(condition, ir.IntType(self.width))
        return self.builder.zext(bits, ir.IntType(64))


def _data(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.make_array(kind)(context, builder, value).data


def _sum_over_coordinates(lanes: _Lanes, d: Any, term: Callable[[Any], Any]) -> Any:
    """Add up ``term(j)`` for j = 0 … d - 1, in that order, starting from zero."""
    builder = lanes.builder
    total = cgutils.alloca_once_value(builder, lanes.constant(0.0))
    with cgutils.for_range(builder, d) as loop:
        builder.store(builder.fadd(builder.load(total), term(loop.index)), total)
    return builder.load(total)


@intrinsic  # type: ignore[untyped-decorator]
def scan_points(typing, x, block, q, low, high, out):  # type: ignore[no-untyped-def]
    """``scan_points(x, block, q, low, high, out)``: squared distances from q to sixteen points.

    Writes them to `out`; returns the mask of those ≤ `low` or ≥ `high`. NaN is neither.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        x, block, q, low, high, out = arguments
        lanes = _Lanes(builder, 16)
        x_data = _data(context, builder, signature.args[0], x)
        q_data = _data(context, builder, signature.args[2], q)
        d = builder.extract_value(context.make_array(signature.args[2])(context, builder, q).shape, 0)
        width = ir.Constant(d.type, lanes.width)
        start = builder.mul(builder.mul(block, d), width)

        def term(j):  # type: ignore[no-untyped-def]
            point = lanes.load(x_data, builder.add(start, builder.mul(j, width)))
            t = builder.fsub(point, lanes.splat(builder.load(builder.gep(q_data, [j]))))
            return builder.fmul(t, t)

        total = _sum_over_coordinates(lanes, d, term)
        lanes.store(total, _data(context, builder, signature.args[5], out))
        near = builder.fcmp_ordered("<=", total, lanes.splat(low))
        far = builder.fcmp_ordered(">=", total, lanes.splat(high))
        return lanes.mask(builder.or_(near, far))

    return types.int64(x, types.intp, q, types.float64, types.float64, out), generate


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(typing, mask):  # type: ignore[no-untyped-def]
    """``lowest_bit(mask)``: position of the lowest bit of a mask that is not zero."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def scan_boxes(typing, box, block, q, low, out):  # type: ignore[no-untyped-def]
    """``scan_boxes(box, block, q, low, out)``: the least squared distance from q to anything in eight boxes.

    Writes them to `out`; returns the mask of those ≤ `low`. ``box[block, 2j]`` and ``box[block, 2j + 1]`` are the
    lower and upper faces. Rounding is monotonic, so that a bound is never above the computed distance of a point
    in the box.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        box, block, q, low, out = arguments
        lanes = _Lanes(builder, 8)
        faces = _data(context, builder, signature.args[0], box)
        q_data = _data(context, builder, signature.args[2], q)
        d = builder.extract_value(context.make_array(signature.args[2])(context, builder, q).shape, 0)
        pair = ir.Constant(d.type, 2 * lanes.width)
        start = builder.mul(builder.mul(block, d), pair)

        def term(j):  # type: ignore[no-untyped-def]
            at = builder.add(start, builder.mul(j, pair))
            here = lanes.splat(builder.load(builder.gep(q_data, [j])))
            below = builder.fsub(lanes.load(faces, at), here)
            above = builder.fsub(here, lanes.load(faces, builder.add(at, ir.Constant(d.type, lanes.width))))
            t = lanes.larger(lanes.larger(below, above), lanes.constant(0.0))
            return builder.fmul(t, t)

        total = _sum_over_coordinates(lanes, d, term)
        lanes.store(total, _data(context, builder, signature.args[4], out))
        return lanes.mask(builder.fcmp_ordered("<=", total, lanes.splat(low)))

    return types.int64(box, types.intp, q, types.float64, out), generate


@intrinsic  # type: ignore[untyped-decorator]
def scan_corners(typing, box, block, q, out):  # type: ignore[no-untyped-def]
    """``scan_corners(box, block, q, out)``: the squared distance from q to the farthest corner of eight boxes.

    Rounding is monotonic, so that a bound is never below the computed distance of a point in the box.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        box, block, q, out = arguments
        lanes = _Lanes(builder, 8)
        faces = _data(context, builder, signature.args[0], box)
        q_data = _data(context, builder, signature.args[2], q)
        d = builder.extract_value(context.make_array(signature.args[2])(context, builder, q).shape, 0)
        pair = ir.Constant(d.type, 2 * lanes.width)
        start = builder.mul(builder.mul(block, d), pair)

        def term(j):  # type: ignore[no-untyped-def]
            at = builder.add(start, builder.mul(j, pair))
            here = lanes.splat(builder.load(builder.gep(q_data, [j])))
            below = builder.fsub(here, lanes.load(faces, at))
            above = builder.fsub(lanes.load(faces, builder.add(at, ir.Constant(d.type, lanes.width))), here)
            t = lanes.larger(below, above)
            return builder.fmul(t, t)

        lanes.store(_sum_over_coordinates(lanes, d, term), _data(context, builder, signature.args[3], out))
        return context.get_dummy_value()

    return types.none(box, types.intp, q, out), generate


@intrinsic  # type: ignore[untyped-decorator]
def scan_slopes(typing, box, block, w, anchor, out):  # type: ignore[no-untyped-def]
    """``scan_slopes(box, block, w, anchor, out)``: the largest w · (x - anchor) over x in eight boxes."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        box, block, w, anchor, out = arguments
        lanes = _Lanes(builder, 8)
        faces = _data(context, builder, signature.args[0], box)
        w_data = _data(context, builder, signature.args[2], w)
        anchor_data = _data(context, builder, signature.args[3], anchor)
        d = builder.extract_value(context.make_array(signature.args[2])(context, builder, w).shape, 0)
        pair = ir.Constant(d.type, 2 * lanes.width)
        start = builder.mul(builder.mul(block, d), pair)

        def term(j):  # type: ignore[no-untyped-def]
            slope = builder.load(builder.gep(w_data, [j]))
            rising = builder.fcmp_ordered(">", slope, ir.Constant(_DOUBLE, 0.0))
            face = builder.select(rising, ir.Constant(d.type, lanes.width), ir.Constant(d.type, 0))
            at = builder.add(builder.add(start, builder.mul(j, pair)), face)
            origin = lanes.splat(builder.load(builder.gep(anchor_data, [j])))
            return builder.fmul(builder.fsub(lanes.load(faces, at), origin), lanes.splat(slope))

        lanes.store(_sum_over_coordinates(lanes, d, term), _data(context, builder, signature.args[4], out))
        return context.get_dummy_value()

    return types.none(box, types.intp, w, anchor, out), generate
