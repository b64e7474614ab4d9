"""MDAV-generic: the exact partition, by brute force or through a spatial index.

r and s are the records of the paper, c the centroid of the remaining records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.brute import brute_steps, pass_space
from shoal.kernels.groups import equal_records, regroup
from shoal.kernels.remaining import all_remaining, final_labels, scattered
from shoal.progress import report

_COORDINATES_PER_CALL = 300_000_000  # about a tenth of a second between two reports


@dataclass(frozen=True)
class MdavTrace:
    """What ran: the proof of the path, and how much work it did."""

    path: str
    index_steps: int = 0
    brute_steps: int = 0
    leaves_visited: int = 0
    records_scanned: int = 0
    rebuilds: int = 0


def in_range(points: np.ndarray) -> np.ndarray:
    """Scale by a power of two where squares of coordinates would overflow, or all vanish.

    Guarantee: points whose largest magnitude lies in [2⁻⁵⁰⁰, 2⁵⁰⁰] are returned as they are; others come back with
    a largest magnitude in [½, 1).
    """
    largest = float(np.abs(points).max())
    if largest == 0.0 or 2.0**-500 <= largest <= 2.0**500:
        return points
    return np.ldexp(points, -int(np.frexp(largest)[1]))


def mdav(points: np.ndarray, k: int, *, path: str | None = None) -> tuple[np.ndarray, MdavTrace]:
    """Partition points by MDAV-generic."""
    n = points.shape[0]
    points = in_range(points)
    members, bounds = equal_records(points)
    if path == "index":
        from shoal.kernels.index import index_steps, spatial_index
        from shoal.kernels.kd_order import kd_order

        order = kd_order(points, members[bounds[:-1]])
        members, bounds = regroup(members, bounds, order)
        remaining = all_remaining(points, members, bounds, np.arange(order.shape[0]))
        index = spatial_index(remaining, k)
        steps = 0
        while remaining.counts[0] >= 2 * k:
            steps += index_steps(index, remaining, k, 1_000_000)
            report(n - int(remaining.counts[0]), n)
        print(index.search.work / steps, index.rebuilds)
        report(n, n)
        return final_labels(remaining), MdavTrace(
            "index",
            index_steps=steps,
            leaves_visited=int(index.search.work[0]),
            records_scanned=int(index.search.work[1]),
            rebuilds=int(index.rebuilds[0]),
        )
    remaining = all_remaining(points, members, bounds, scattered(bounds.shape[0] - 1))
    steps = scanned = 0
    space = pass_space(points.shape[1], k)
    while remaining.counts[0] >= 2 * k:
        more, records = brute_steps(space, remaining, k, _COORDINATES_PER_CALL)
        steps, scanned = steps + more, scanned + records
        report(n - int(remaining.counts[0]), n)
    report(n, n)
    return final_labels(remaining), MdavTrace("brute", brute_steps=steps, records_scanned=scanned)
