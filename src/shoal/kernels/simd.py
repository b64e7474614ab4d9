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

    def smaller(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

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
def scan_reaches(typing, box, block, reach, at, w, anchor, rest, high, out):  # type: ignore[no-untyped-def]
    """``scan_reaches(box, block, reach, at, w, anchor, rest, high, out)``: how far points in eight boxes may be.

    Writes, for each box, its reach (the eight from flat position `at`) plus `rest` plus the largest w · (x - anchor) over x in the box; returns the
    mask of those ≥ `high`.
    """

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        box, block, reach, at, w, anchor, rest, high, out = arguments
        lanes = _Lanes(builder, 8)
        faces = _data(context, builder, signature.args[0], box)
        w_data = _data(context, builder, signature.args[4], w)
        anchor_data = _data(context, builder, signature.args[5], anchor)
        d = builder.extract_value(context.make_array(signature.args[4])(context, builder, w).shape, 0)
        width = ir.Constant(d.type, lanes.width)
        pair = ir.Constant(d.type, 2 * lanes.width)
        start = builder.mul(builder.mul(block, d), pair)

        def term(j):  # type: ignore[no-untyped-def]
            slope = builder.load(builder.gep(w_data, [j]))
            rising = builder.fcmp_ordered(">", slope, ir.Constant(_DOUBLE, 0.0))
            face = builder.select(rising, width, ir.Constant(d.type, 0))
            face = builder.add(builder.add(start, builder.mul(j, pair)), face)
            origin = lanes.splat(builder.load(builder.gep(anchor_data, [j])))
            return builder.fmul(builder.fsub(lanes.load(faces, face), origin), lanes.splat(slope))

        slopes = _sum_over_coordinates(lanes, d, term)
        reaches = lanes.load(_data(context, builder, signature.args[2], reach), at)
        total = builder.fadd(slopes, builder.fadd(reaches, lanes.splat(rest)))
        lanes.store(total, _data(context, builder, signature.args[8], out))
        return lanes.mask(builder.fcmp_ordered(">=", total, lanes.splat(high)))

    real = types.float64
    return types.int64(box, types.intp, reach, types.intp, w, anchor, real, real, out), generate


def _fold(width: int, pick: str, name: str) -> Any:
    """Make a function that reduces the lanes of one row to their least or largest."""

    def fold(typing, array, at, start):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            array, at, start = arguments
            lanes = _Lanes(builder, width)
            value = lanes.load(_data(context, builder, signature.args[0], array), at)
            value = getattr(lanes, pick)(value, lanes.splat(start))  # NaN is never picked: it gives way to start
            while lanes.width > 1:
                half = _Lanes(builder, lanes.width // 2)
                index = ir.VectorType(ir.IntType(32), half.width)
                low = builder.shuffle_vector(value, value, ir.Constant(index, list(range(half.width))))
                high = builder.shuffle_vector(value, value, ir.Constant(index, list(range(half.width, lanes.width))))
                value, lanes = getattr(half, pick)(low, high), half
            return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

        return types.float64(array, types.intp, types.float64), generate

    fold.__name__ = fold.__qualname__ = name
    fold.__doc__ = f"``{name}(array, at, start)``: reduce `start` and the {width} values from flat position `at`."
    return intrinsic(fold)


least8, most8 = _fold(8, "smaller", "least8"), _fold(8, "larger", "most8")
least16, most16 = _fold(16, "smaller", "least16"), _fold(16, "larger", "most16")
