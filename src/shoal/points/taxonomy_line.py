"""The leaves of a taxonomy in a line: those of a group side by side, whatever the data are.

Two leaves are as far apart as their lowest common group is high, over the height of the tree. Between two leaves of the
line the distance is the largest of those from leaf to leaf on the way, for the lowest common group of the two holds all
that lie between. So it is at most their sum.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.points.nominal import told_apart
from shoal.types import Axis, Cut, Taxonomy, called


def line_of(taxonomy: Taxonomy) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the leaves in line, groups in the order of their names, and how far each is from the next.

    >>> line_of(Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)}))
    (('ulcer', 'asthma', 'flu'), array([1. , 0.5]))
    """
    names = sorted(taxonomy.paths, key=lambda name: (*taxonomy.paths[name], name))
    height: dict[tuple[str, ...], int] = {}
    for path in taxonomy.paths.values():
        for depth in range(len(path) + 1):
            height[path[:depth]] = max(height.get(path[:depth], 0), len(path) + 1 - depth)
    steps = [height[_shared(taxonomy.paths[a], taxonomy.paths[b])] / height[()] for a, b in pairwise(names)]
    return tuple(names), np.array(steps, np.float64)


def cuts_of(taxonomy: Taxonomy) -> dict[int, Cut]:
    """Return the cuts of the line by the groups of one depth; by the number of cells.

    A leaf that lies higher is by itself. Two depths of as many cells have the same ones: a deeper one cuts further.
    """
    names, steps = line_of(taxonomy)
    found = {}
    for depth in range(taxonomy.height + 1):
        keys = [_cell(taxonomy.paths[name], name, depth) for name in names]
        border = np.array([a != b for a, b in pairwise(keys)], np.bool_)
        cells = np.concatenate(([0], np.cumsum(border))).astype(np.int64)
        within = float(steps[~border].max(initial=0.0))
        found[int(cells[-1]) + 1] = Cut(within, math.fsum(steps[border].tolist()), cells)
    return found


def axis_of(name: str, column: pa.ChunkedArray, taxonomy: Taxonomy) -> Axis:
    """Return the domain of a column of categories in a line; all its values must be in the taxonomy."""
    names, steps = line_of(taxonomy)
    place = {leaf: at for at, leaf in enumerate(names)}
    codes, values = told_apart(name, column)
    own = np.array([*(place[called(value)] for value in values.to_pylist()), -1], np.float64)  # none is missing
    return Axis(name, own[codes], math.fsum(steps.tolist()), cuts_of(taxonomy))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lowest group that two leaves are both in, by its path."""
    both = zip(one, other, strict=False)
    return one[: next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))]


def _cell(path: tuple[str, ...], name: str, depth: int) -> tuple[tuple[str, ...], str | None]:
    """Return the group of a leaf at a depth, or the leaf itself where it lies higher."""
    return (path[:depth], None) if depth <= len(path) else (path, name)
