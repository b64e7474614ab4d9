"""Distinct points in leaves of sixteen that lie close together, under a tree of boxes that nobody changes.

Laid out as in :mod:`shoal.kernels.tree`: node i of level h is lane ``i % 8`` of block ``offset[h] + i // 8``. But the
faces are the float64 coordinates themselves, so that bounds need no slack.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.groups import equal_records, regroup
from shoal.kernels.jit import kernel
from shoal.kernels.kd_order import kd_order
from shoal.kernels.remaining import WIDTH, in_lanes
from shoal.kernels.simd import least8, least16, most8, most16

FAN = 8


class Boxes(NamedTuple):
    """Distinct points in leaves, the records at each, and boxes over them."""

    x: np.ndarray  # (leaves, d, WIDTH) the points, the last leaf filled up with NaN
    members: np.ndarray  # (n,) rows, point after point, ascending at each
    bounds: np.ndarray  # (points + 1,) where the rows of a point begin
    low: np.ndarray  # (leaves, d) lower faces of the leaves
    high: np.ndarray  # (leaves, d) upper faces
    box: np.ndarray  # (blocks, 2d, FAN) lower and upper faces of eight nodes side by side
    offset: np.ndarray  # (levels,) first block of each level
    nodes: np.ndarray  # (levels,) number of nodes of each level; level 0 are the leaves


def leaf_boxes(points: np.ndarray) -> Boxes:
    """Lay out the records of an (n, d) table.

    Complexity: O(n log n + n·d) time, O(n·d) memory.
    """
    members, bounds = equal_records(points)
    first = points if bounds.shape[0] > points.shape[0] else points[members[bounds[:-1]]]
    members, bounds = regroup(members, bounds, kd_order(first))
    x = in_lanes(points, members[bounds[:-1]])
    nodes = [x.shape[0]]
    while nodes[-1] > FAN:
        nodes.append(-(-nodes[-1] // FAN))
    blocks = [-(-count // FAN) for count in nodes]
    d = points.shape[1]
    boxes = Boxes(
        x,
        members.astype(np.int32),
        bounds.astype(np.int32),
        np.empty((x.shape[0], d)),
        np.empty((x.shape[0], d)),
        np.empty((sum(blocks), 2 * d, FAN)),
        np.cumsum([0, *blocks[:-1]]).astype(np.int64),
        np.array(nodes, dtype=np.int64),
    )
    _grow(boxes)
    return boxes


@kernel
def _grow(boxes):
    """Make the boxes of all leaves and nodes; those that fill up a block are turned inside out."""
    x, box, d = boxes.x, boxes.box, boxes.x.shape[1]
    for level in range(boxes.nodes.shape[0]):
        nodes = boxes.nodes[level]
        for node in range((nodes + FAN - 1) // FAN * FAN):
            block, lane = boxes.offset[level] + node // FAN, node % FAN
            for j in range(d):
                low, high = np.inf, -np.inf
                if node < nodes and level == 0:
                    at = (node * d + j) * WIDTH
                    low, high = least16(x, at, np.inf), most16(x, at, -np.inf)
                    boxes.low[node, j], boxes.high[node, j] = low, high
                elif node < nodes:
                    at = ((boxes.offset[level - 1] + node) * d + j) * 2 * FAN
                    low, high = least8(box, at, np.inf), most8(box, at + FAN, -np.inf)
                box[block, 2 * j, lane], box[block, 2 * j + 1, lane] = low, high
