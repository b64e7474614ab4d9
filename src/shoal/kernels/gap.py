"""Squared distance between two rows, four coordinates at a time.

The order of additions is written down: coordinates 0, 4, 8 … are added up in the first lane, 1, 5, 9 … in the second
and so on; then (first + second) + (third + fourth). Every machine rounds alike.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from shoal.kernels.simd import _Lanes, intrinsic

_WIDTH = 4


def padded(x: np.ndarray) -> np.ndarray:
    """Return the points with zeros for further coordinates, up to a multiple of four.

    >>> padded(np.ones((1, 3))).tolist()
    [[1.0, 1.0, 1.0, 0.0]]
    """
    n, d = x.shape
    out = np.zeros((n, -(-d // _WIDTH) * _WIDTH))
    out[:, :d] = x
    return out


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
