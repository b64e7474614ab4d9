"""What either way of MDAV costs, in nanoseconds of an ordinary core, from counts of work alone.

Fitted by least squares to timings of both ways, n = 300 … 10⁵, d = 1 … 30, k = 3 … 30, on uniform, clustered and
correlated points; nine predictions in ten are within 40 %. Only counts go in, never a clock, so that the same table
takes the same way on every machine, every time.
"""

from __future__ import annotations

import math

from shoal.kernels.index import Index
from shoal.kernels.remaining import Remaining

_CACHED = 5e6  # bytes


def brute_step(points: int, d: int, k: int) -> float:
    """Cost of forming two classes by brute force while `points` distinct points remain."""
    scan = 3.2 * points * (0.25 + 0.143 * d)
    scan *= 1.0 + min(max(points * d * 8 / _CACHED - 1.0, 0.0), 1.0)  # what no cache holds comes half as fast
    keep = 59.0 * k * math.log2(2.0 + points / k)
    return scan + keep + 12.0 * k * d


def brute_total(n: int, points: int, d: int, k: int) -> float:
    """Cost of brute force from n records, `points` of them distinct, to the end."""
    return n / (2 * k) * brute_step(points // 2, d, k)


def frame(d: int) -> float:
    """Cost of choosing a frame: from some size on, the linear algebra library starts threads, which spin."""
    return 1.5e6 + 5e4 * d if d < 24 else 4.5e7 + 2.5e6 * (d - 24)


def index_build(points: int, d: int) -> float:
    """Cost of building the index once."""
    return points * (180.0 + 44.0 * d + 3.4 * math.log2(points + 1.0))


def index_least(n: int, points: int, d: int, axes: int, k: int) -> float:
    """Cost of the index where its searches go as well as they may in a frame of so many axes."""
    visits = 4.0 * math.log2(points + 1.0) * (33.0 + 3.8 * axes) * 1.25 ** max(axes - 6, 0)
    return index_build(points, d) + n * (140.0 + 19.0 * d) + n / (2 * k) * (1350.0 + 11.0 * d * axes + visits)


def index_so_far(index: Index, remaining: Remaining) -> float:
    """Cost of all searches and removals of the index up to now."""
    near, far_c, far_r = (index.search.work[i : i + 3] for i in (0, 3, 6))
    frame_leaves, boxes, leaves = (int(count) for count in near + far_c + far_r)
    p, d = int(index.tree.y.shape[1]), int(remaining.x.shape[1])
    taken = remaining.members.shape[0] - int(remaining.counts[0])
    steps = int(remaining.counts[1]) / 2
    search = frame_leaves * 1.8 * p + boxes * (33.0 + 3.8 * p) + leaves * 25.0
    return float(search + taken * (140.0 + 19.0 * d) + steps * (1350.0 + 11.0 * p * d))
