"""What a search through the tree needs: depth first, the most promising child next.

Bounds are float32, in the frame (:mod:`shoal.kernels.frame`); thresholds are widened by all that rounding can do, so
that no leaf that matters is left out. What decides is measured in float64, in coordinate order.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import part
from shoal.kernels.nearest_few import Nearest, nearest_few
from shoal.kernels.remaining import WIDTH
from shoal.kernels.tree import FAN

EPSILON = 2.0**-24  # of float32


class Search(NamedTuple):
    """Scratch space of a search, and how much it has looked at."""

    q: np.ndarray  # (d,) searched from here
    y: np.ndarray  # the same in the frame
    near: np.ndarray  # the same in float32
    w: np.ndarray  # float32: slopes in the frame
    a: np.ndarray  # the anchor in the frame
    nearest: Nearest
    distance: np.ndarray  # (WIDTH,)
    approximate: np.ndarray  # (WIDTH,) float32
    bound: np.ndarray  # (FAN,) float32
    pending: np.ndarray  # stack: bound of each node still to visit
    level: np.ndarray
    node: np.ndarray
    work: np.ndarray  # blocks of the frame, inner blocks, leaves: near; then far from c; then far from r


def search_space(d: int, coordinates: int, k: int) -> Search:
    """Allocate scratch space for points of `d` coordinates, in a frame, and classes of `k`."""
    depth = 16 * FAN
    return Search(
        np.empty(d),
        np.empty(coordinates),
        np.empty(coordinates, dtype=np.float32),
        np.empty(coordinates, dtype=np.float32),
        np.empty(coordinates),
        nearest_few(k - 1),
        np.empty(WIDTH),
        np.empty(WIDTH, dtype=np.float32),
        np.empty(FAN, dtype=np.float32),
        np.empty(depth, dtype=np.float32),
        np.empty(depth, dtype=np.int64),
        np.empty(depth, dtype=np.int64),
        np.zeros(9, dtype=np.int64),
    )


@part
def push(search, top, first, bound, level, node, sign):
    """Insert a node among those pushed since `first`, the most promising (least ``sign · bound``) on top."""
    i = top
    while i > first and sign * search.pending[i - 1] < sign * bound:
        search.pending[i] = search.pending[i - 1]
        search.level[i] = search.level[i - 1]
        search.node[i] = search.node[i - 1]
        i -= 1
    search.pending[i] = bound
    search.level[i] = level
    search.node[i] = node
    return top + 1
