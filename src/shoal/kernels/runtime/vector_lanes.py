"""Explicit vector instructions for distances and bounds, written as LLVM code.

The compiler vectorises a loop over sixteen lanes only sometimes; here the vector instructions are explicit. Each lane
is rounded exactly as a plain loop over its coordinates would round it, because no operation is reordered or contracted.
:mod:`shoal.kernels.runtime.plain_lanes` holds the same functions as plain loops, which return the same bits;
:mod:`shoal.kernels.runtime.lanes` says what all of them do, and chooses.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba import extending, types
from numba.core import cgutils

_INT32 = ir.IntType(32)
intrinsic: Any = extending.intrinsic


class _Lanes:
    """Writer of vector operations, for one width and one element type, into a function under construction."""

    def __init__(self, builder: Any, width: int, element: Any) -> None:
        self.builder, self.width, self.element = builder, width, element
        self.type = ir.VectorType(element, width)

    def load(self, data: Any, offset: Any) -> Any:
        pointer = self.builder.gep(data, [offset])
        return self.builder.load(self.builder.bitcast(pointer, self.type.as_pointer()), align=4)

    def store(self, value: Any, data: Any) -> None:
        self.builder.store(value, self.builder.bitcast(data, self.type.as_pointer()), align=4)

    def splat(self, scalar: Any) -> Any:
        one = self.builder.insert_element(ir.Constant(self.type, ir.Undefined), scalar, ir.Constant(_INT32, 0))
        zeros = ir.Constant(ir.VectorType(_INT32, self.width), [0] * self.width)
        return self.builder.shuffle_vector(one, one, zeros)

    def constant(self, value: float) -> Any:
        return ir.Constant(self.type, [value] * self.width)

    def larger(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def smaller(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def half(self, value: Any, first: int) -> Any:
        places = list(range(first, first + self.width // 2))
        return self.builder.shuffle_vector(value, value, ir.Constant(ir.VectorType(_INT32, len(places)), places))

    def mask(self, condition: Any) -> Any:
        bits = self.builder.bitcast(condition, ir.IntType(self.width))
        return self.builder.zext(bits, ir.IntType(64))


class _Array:
    """An array argument of a function under construction."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        array = context.make_array(kind)(context, builder, value)
        self.builder, self.data = builder, array.data
        self.length = builder.extract_value(array.shape, 0)
        self.element = context.get_data_type(kind.dtype)

    def __getitem__(self, i: Any) -> Any:
        return self.builder.load(self.builder.gep(self.data, [i]))


def _arguments(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    return [
        _Array(context, builder, kind, value) if isinstance(kind, types.Array) else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def _sum_over_coordinates(lanes: _Lanes, d: Any, term: Callable[[Any], Any]) -> Any:
    """Sum ``term(j)`` for j = 0 … d - 1, in that order, starting from zero."""
    builder = lanes.builder
    total = cgutils.alloca_once_value(builder, lanes.constant(0.0))
    with cgutils.for_range(builder, d) as loop:
        builder.store(builder.fadd(builder.load(total), term(loop.index)), total)
    return builder.load(total)


@intrinsic
def scan_points(typing, x, block, q, low, high, out):
    """``scan_points(x, block, q, low, high, out)``: squared distances from q to sixteen points.

    Writes them to `out`; returns the mask of those ≤ `low` or ≥ `high`. NaN is neither.
    """

    def generate(context, builder, signature, arguments):
        x, block, q, low, high, out = _arguments(context, builder, signature, arguments)
        lanes = _Lanes(builder, 16, x.element)
        width = ir.Constant(block.type, lanes.width)
        start = builder.mul(builder.mul(block, q.length), width)

        def term(j):
            point = lanes.load(x.data, builder.add(start, builder.mul(j, width)))
            t = builder.fsub(point, lanes.splat(q[j]))
            return builder.fmul(t, t)

        total = _sum_over_coordinates(lanes, q.length, term)
        lanes.store(total, out.data)
        near = builder.fcmp_ordered("<=", total, lanes.splat(low))
        far = builder.fcmp_ordered(">=", total, lanes.splat(high))
        return lanes.mask(builder.or_(near, far))

    return types.int64(x, types.intp, q, x.dtype, x.dtype, out), generate


@intrinsic
def scan_boxes(typing, box, block, q, low, out):
    """``scan_boxes(box, block, q, low, out)``: the least squared distance from q to anything in eight boxes.

    Writes them to `out`; returns the mask of those ≤ `low`. ``box[block, 2j]`` and ``box[block, 2j + 1]`` are the
    lower and upper faces.
    """

    def generate(context, builder, signature, arguments):
        box, block, q, low, out = _arguments(context, builder, signature, arguments)
        lanes = _Lanes(builder, 8, box.element)
        width, pair = ir.Constant(block.type, lanes.width), ir.Constant(block.type, 2 * lanes.width)
        start = builder.mul(builder.mul(block, q.length), pair)

        def term(j):
            at = builder.add(start, builder.mul(j, pair))
            here = lanes.splat(q[j])
            below = builder.fsub(lanes.load(box.data, at), here)
            above = builder.fsub(here, lanes.load(box.data, builder.add(at, width)))
            t = lanes.larger(lanes.larger(below, above), lanes.constant(0.0))
            return builder.fmul(t, t)

        total = _sum_over_coordinates(lanes, q.length, term)
        lanes.store(total, out.data)
        return lanes.mask(builder.fcmp_ordered("<=", total, lanes.splat(low)))

    return types.int64(box, types.intp, q, box.dtype, out), generate


@intrinsic
def scan_reaches(typing, box, reach, block, w, rest, high, out):
    """``scan_reaches(box, reach, block, w, rest, high, out)``: how far points in eight boxes may be.

    Writes, for each box, its reach plus `rest` plus the largest w · x over x in the box; returns the mask of those
    ≥ `high`.
    """

    def generate(context, builder, signature, arguments):
        box, reach, block, w, rest, high, out = _arguments(context, builder, signature, arguments)
        lanes = _Lanes(builder, 8, box.element)
        width, pair = ir.Constant(block.type, lanes.width), ir.Constant(block.type, 2 * lanes.width)
        start = builder.mul(builder.mul(block, w.length), pair)

        def term(j):
            slope = w[j]
            rising = builder.fcmp_ordered(">", slope, ir.Constant(box.element, 0.0))
            face = builder.select(rising, width, ir.Constant(block.type, 0))
            at = builder.add(builder.add(start, builder.mul(j, pair)), face)
            return builder.fmul(lanes.load(box.data, at), lanes.splat(slope))

        slopes = _sum_over_coordinates(lanes, w.length, term)
        reaches = lanes.load(reach.data, builder.mul(block, width))
        total = builder.fadd(slopes, builder.fadd(reaches, lanes.splat(rest)))
        lanes.store(total, out.data)
        return lanes.mask(builder.fcmp_ordered(">=", total, lanes.splat(high)))

    return types.int64(box, reach, types.intp, w, box.dtype, box.dtype, out), generate


@intrinsic
def lowest_bit(typing, mask):
    """``lowest_bit(mask)``: position of the lowest bit of a mask that is not zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


def _fold(width: int, pick: str, name: str) -> Any:
    """Make a function that reduces the lanes of one row to their minimum or maximum."""

    def fold(typing, array, at, start):
        def generate(context, builder, signature, arguments):
            array, at, start = _arguments(context, builder, signature, arguments)
            lanes = _Lanes(builder, width, array.element)
            value = lanes.load(array.data, at)
            value = getattr(lanes, pick)(value, lanes.splat(start))  # NaN is never picked: start wins
            while lanes.width > 1:
                low, high = lanes.half(value, 0), lanes.half(value, lanes.width // 2)
                lanes = _Lanes(builder, lanes.width // 2, array.element)
                value = getattr(lanes, pick)(low, high)
            return builder.extract_element(value, ir.Constant(_INT32, 0))

        return array.dtype(array, types.intp, array.dtype), generate

    fold.__name__ = fold.__qualname__ = name
    fold.__doc__ = f"``{name}(array, at, start)``: reduce `start` and the {width} values from flat position `at`."
    return intrinsic(fold)


least8, most8 = _fold(8, "smaller", "least8"), _fold(8, "larger", "most8")
least16, most16 = _fold(16, "smaller", "least16"), _fold(16, "larger", "most16")


_WIDTH = 4


@intrinsic
def gap(typing, a, i, b, j):
    """``gap(a, i, b, j)``: squared distance between row i of `a` and row j of `b`, both padded."""

    def generate(context, builder, signature, arguments):
        first = context.make_array(signature.args[0])(context, builder, arguments[0])
        second = context.make_array(signature.args[2])(context, builder, arguments[2])
        d = builder.extract_value(first.shape, 1)
        lanes = _Lanes(builder, _WIDTH, ir.DoubleType())
        at_a, at_b = builder.mul(arguments[1], d), builder.mul(arguments[3], d)
        total = cgutils.alloca_once_value(builder, lanes.constant(0.0))
        start, step = ir.Constant(d.type, 0), ir.Constant(d.type, _WIDTH)
        with cgutils.for_range_slice(builder, start, d, step, inc=True) as (c, _):
            x = lanes.load(first.data, builder.add(at_a, c))
            t = builder.fsub(x, lanes.load(second.data, builder.add(at_b, c)))
            builder.store(builder.fadd(builder.load(total), builder.fmul(t, t)), total)
        sums = builder.load(total)
        lane = [builder.extract_element(sums, ir.Constant(ir.IntType(32), q)) for q in range(_WIDTH)]
        return builder.fadd(builder.fadd(lane[0], lane[1]), builder.fadd(lane[2], lane[3]))

    return types.float64(a, types.intp, b, types.intp), generate


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


def check_support() -> None:
    """Raise an exception unless llvmlite can write the instructions used here, and LLVM accepts them.

    LLVM translates vector instructions for any processor, if need be into scalar ones. A mask of lanes, however, has
    its bits in the order assumed here only on little-endian processors.
    """
    if sys.byteorder != "little":
        raise NotImplementedError("masks of lanes need a little-endian processor")
    element, word = ir.FloatType(), ir.IntType(64)
    module = ir.Module("lanes")
    function = ir.Function(module, ir.FunctionType(word, [element.as_pointer(), word, element]), "lanes")
    data, at, scalar = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    lanes = _Lanes(builder, 16, element)
    total = _sum_over_coordinates(lanes, at, lambda j: lanes.load(data, builder.add(at, j)))
    total = lanes.smaller(lanes.larger(total, lanes.splat(scalar)), lanes.constant(0.0))
    lanes.store(total, data)
    half = _Lanes(builder, 8, element)
    mask = half.mask(builder.fcmp_ordered("<=", lanes.half(total, 0), lanes.half(total, 8)))
    builder.ret(builder.cttz(mask, ir.Constant(ir.IntType(1), 1)))
    binding.parse_assembly(str(module)).verify()
