"""Principal axes: fewer coordinates for local search, and a float32 frame for bounds on distances.

**Fewer axes** serve searches that try millions of moves and can ignore small differences. Categories take a coordinate
for each value and each group, but few of them vary much: the points of Adult have 158 coordinates, lie in 87
dimensions, and have all but a two-hundredth of their variance in 48.

**The frame** is ``y = s · Qᵀ(x - μ)`` for p principal axes Q, and, where p < d, one more coordinate: the length of the
part outside the axes. Distances in the frame are never larger than the original ones (times s), and seldom much
smaller. Bounds in the frame take half the memory, half the instructions and, when coordinates are correlated, boxes
that fit. They decide which points can be skipped; distances are measured in the points' own float64 coordinates. s is a
power of two that makes every length in the frame at most 1, or is at most 2⁴⁷⁰.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from typing import NamedTuple, overload

import numpy as np

from shoal.kernels.runtime.jit import kernel, part
from shoal.kernels.space.remaining import SLOTS, WIDTH, read
from shoal.types.coded import Coded

_NARROW = 24  # up to this many coordinates nothing is gained
_WIDE = 512  # beyond this many coordinates, finding the axes would take longer than it saves
_PAYS = 2 / 3  # largest ratio of axes to coordinates that is worth it
_LEFT_OUT = 0.005  # largest share of the variance that the axes may leave out
_SAMPLE = 8192  # records used to find the axes, …
_PRODUCTS = 3e8  # … or fewer where there are many coordinates, …
_EACH = 4  # … but at least this many per coordinate


@overload
def on_main_axes(x: np.ndarray) -> np.ndarray: ...
@overload
def on_main_axes(x: np.ndarray | Coded) -> np.ndarray | Coded: ...
def on_main_axes(x: np.ndarray | Coded) -> np.ndarray | Coded:
    """Return points in the coordinates of their principal axes, without the axes along which they hardly vary.

    Squares do not overflow. Returns `x` itself if d is small or very large, or if p axes would not be much fewer than
    d, or if records have codes.

    Guarantee: distances do not grow, except by rounding; equal points stay equal. At most a two-hundredth of the
    variance of a sample is left out. Complexity: O(n·d·p + d³).

    >>> two = np.array([[0.0, 3.0], [4.0, 0.0]])
    >>> on_main_axes(two) is two
    True
    >>> on_main_axes(np.repeat(two, 20, axis=1)).shape
    (2, 1)
    """
    n, d = x.shape
    if isinstance(x, Coded) or not _NARROW < d <= _WIDE:
        return x
    rows = max(min(_SAMPLE, int(_PRODUCTS / d**2)), _EACH * d)
    sample = x[:: max(n // rows, 1)]
    origin = sample.mean(axis=0)
    apart = sample - origin
    largest = np.abs(apart).max()
    if largest == 0.0:
        return x
    apart /= largest
    # einsum instead of BLAS, whose order of additions depends on its threads: same points, same axes
    values, vectors = np.linalg.eigh(np.einsum("ij,ik->jk", apart, apart))
    kept = np.cumsum(np.maximum(values[::-1], 0.0))
    p = int(np.argmax(kept >= (1.0 - _LEFT_OUT) * kept[-1])) + 1
    if p > _PAYS * d:
        return x
    axes = np.ascontiguousarray(vectors[:, ::-1].T[:p])
    return np.asarray(np.einsum("ij,lj->il", x - origin, axes))


_FRAME_SAMPLE = 4096
_GAIN = 0.3  # least mean of log(variance / eigenvalue) that makes rotation worth it
_MOST = 470  # largest exponent of s: values that underflow in float64 must stay below TINY when scaled
TINY = 1e-36  # above anything that underflows, in float32 or before, in units of squared distance in the frame
_CLUMPED = 0.06
_FRAME_LEFT_OUT = 0.01  # largest share of the variance that the axes may leave out


class Frame(NamedTuple):
    """Axes, origin and scale."""

    axes: np.ndarray  # (p, d)
    origin: np.ndarray  # (d,) μ
    scale: np.ndarray  # (1,) s


def _axes(sample: np.ndarray) -> np.ndarray:
    """Return the principal axes of a sample if they make boxes much smaller, else the axes of coordinates that vary."""
    d = sample.shape[1]
    covariance = np.einsum("ij,ik->jk", sample, sample)  # too little work for the threads of a BLAS
    varying = np.flatnonzero(np.diag(covariance) > 0)
    m = varying.shape[0]
    if m == 0:
        return np.eye(d)
    covariance = covariance[np.ix_(varying, varying)]
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values[::-1], 1e-12 * values[-1])
    chosen = np.eye(m)
    if np.log(np.diag(covariance)).mean() - np.log(values).mean() >= _GAIN:
        left_out = 1.0 - np.cumsum(values) / values.sum()
        p = int(np.argmax(left_out <= _FRAME_LEFT_OUT)) + 1
        chosen = vectors[:, ::-1].T[: p if p < m - 1 else m]
    axes = np.zeros((chosen.shape[0], d))
    axes[:, varying] = chosen
    return axes


def frame_of(points: np.ndarray) -> Frame:
    """Choose a frame that suits `points`.

    Guarantee: the frame depends on the points alone; any frame gives the same classes, some faster.
    """
    sample = points[:: max(points.shape[0] // _FRAME_SAMPLE, 1)]
    origin = sample.mean(axis=0)
    largest = max(float((points.max(axis=0) - origin).max()), float((origin - points.min(axis=0)).max()))
    scale = 2.0 ** min(-math.frexp(largest * math.sqrt(points.shape[1]))[1], _MOST)
    return Frame(_axes((sample - origin) * scale), origin, np.array([scale]))


def clumped(points: np.ndarray) -> bool:
    """Tell from a small sample whether points lie in clumps, which an index prunes however many axes there are.

    A point in a clump has few others within √2 times the distance of its nearest neighbour; a point among others spread
    evenly over many axes has nearly all of them within it.
    """
    sample = points[:: max(points.shape[0] // 256, 1)][:256]
    queries = sample[:64]
    with np.errstate(over="ignore", invalid="ignore"):
        squares = ((queries[:, None, :] - sample[None, :, :]) ** 2).sum(axis=2)
    squares[np.arange(len(queries)), np.arange(len(queries))] = np.inf
    nearest = squares.min(axis=1, keepdims=True)
    return bool(np.median((squares <= 2.0 * nearest).mean(axis=1)) < _CLUMPED)


def frame_coordinates(frame: Frame, points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return ``points[rows]`` in the frame, as float32."""
    p, d = frame.axes.shape
    y = np.empty((rows.shape[0], p + (p < d)), dtype=np.float32)
    _put_all(frame, points, rows, np.empty(y.shape[1]), y)
    return y


@part
def to_frame(frame, point, out):
    """Write a point's frame coordinates, in float64; return its scaled distance from the origin."""
    p, d = frame.axes.shape
    length, inside = 0.0, 0.0
    for j in range(d):
        t = (point[j] - frame.origin[j]) * frame.scale[0]
        length += t * t
    for i in range(p):
        t = 0.0
        for j in range(d):
            t += frame.axes[i, j] * ((point[j] - frame.origin[j]) * frame.scale[0])
        out[i] = t
        inside += t * t
    if p < d:
        out[p] = math.sqrt(max(length - inside, 0.0))
    return math.sqrt(length)


@kernel
def _put_all(frame, points, rows, scratch, y):
    for i in range(rows.shape[0]):
        to_frame(frame, points[rows[i]], scratch)
        for j in range(scratch.shape[0]):
            y[i, j] = scratch[j]


@part
def fit(frame, remaining, centre, y, scratch):
    """Move the origin to `centre`, bring the remaining points to scale, and write them, in the frame, to `y`.

    `scratch` holds a point, and a point in the frame.
    """
    point, out = scratch
    used, largest = remaining.counts[SLOTS], 0.0
    for j in range(centre.shape[0]):
        frame.origin[j] = centre[j]
    for slot in range(used):
        length = 0.0
        for j in range(centre.shape[0]):
            t = remaining.x[slot // WIDTH, j, slot % WIDTH] - centre[j]
            length += t * t
        largest = max(largest, length)
    frame.scale[0] = math.ldexp(1.0, min(-math.frexp(math.sqrt(largest))[1], _MOST))
    for slot in range((used + WIDTH - 1) // WIDTH * WIDTH):
        read(remaining, slot, point)
        to_frame(frame, point, out)
        for i in range(out.shape[0]):
            y[slot // WIDTH, i, slot % WIDTH] = out[i] if slot < used else np.nan
