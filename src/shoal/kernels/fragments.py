"""A path through all points, joined from fragments by greedy edges.

The shortest edge first: it is taken if neither end has two edges already and both ends are not of one fragment. Edges
are looked for among near neighbours; once these are used up, only the ends of the fragments remain, each with new
near neighbours among the ends, and so on, until there is one fragment.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import numpy as np

from shoal.kernels.jit import kernel
from shoal.kernels.neighbours import neighbours
from shoal.kernels.overlay import root

_NEAR_ENDS = 6
_STUCK = 0.8  # share of fragments left after a round at which the rest is joined as it comes


@kernel
def _lengths(x, near, length, code):
    """Write the candidate edges, each once: its squared length and where it stands in `near`; return how many."""
    m, count = 0, near.shape[1]
    for a in range(near.shape[0]):
        for i in range(count):
            b = np.int64(near[a, i])
            if b < a:  # leave it to b, if b lists a too
                listed = False
                for h in range(count):
                    listed |= near[b, h] == a
                if listed:
                    continue
            total = 0.0
            for j in range(x.shape[1]):
                t = x[a, j] - x[b, j]
                total += t * t
            length[m], code[m] = total, a * count + i
            m += 1
    return m


@kernel
def _join(order, code, near, ends, link, parent):
    """Take the edges that may be taken, in the order given; return how many."""
    taken, count = 0, near.shape[1]
    for i in range(order.shape[0]):
        edge = code[order[i]]
        a, b = np.int64(ends[edge // count]), np.int64(ends[near[edge // count, edge % count]])
        if link[a, 1] >= 0 or link[b, 1] >= 0:
            continue
        u, v = root(parent, a), root(parent, b)
        if u == v:
            continue
        parent[max(u, v)] = min(u, v)
        link[a, 0 if link[a, 0] < 0 else 1] = b
        link[b, 0 if link[b, 0] < 0 else 1] = a
        taken += 1
    return taken


@kernel
def _walk(link, order):
    """Follow the links from end to end of every fragment, fragments in the order of their lowest ends."""
    m = 0
    for start in range(link.shape[0]):
        if link[start, 1] >= 0:
            continue
        last, here = np.int64(-1), np.int64(start)
        if link[here, 0] == -2:
            continue  # walked from the other end
        while here >= 0:
            order[m] = here
            m += 1
            following = np.int64(link[here, 0])
            if following == last:
                following = np.int64(link[here, 1])
            if following < 0 and here != start:
                link[here, 0] = -2
            last, here = here, following
    return m


def greedy_path(x: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Join points to a path, the shortest edges first."""
    n = x.shape[0]
    link = np.full((n, 2), -1, dtype=np.int32)
    parent = np.arange(n, dtype=np.int32)
    ends, fragments = np.arange(n, dtype=np.int32), n
    while fragments > 1:
        points = x if ends.shape[0] == n else x[ends]
        if ends.shape[0] < n:
            near = neighbours(points, _NEAR_ENDS)
        length = np.empty(near.size)
        code = np.empty(near.size, dtype=np.int64)
        m = _lengths(points, near, length, code)
        taken = _join(np.argsort(length[:m], kind="stable"), code, near, ends, link, parent)
        if taken < (1 - _STUCK) * fragments:
            break
        fragments -= taken
        ends = np.flatnonzero(link[:, 1] < 0).astype(np.int32)
    order = np.empty(n, dtype=np.int32)
    _walk(link, order)
    return order
