"""A large table partitioned block by block, on both cores, and mended across the seams.

Space is cut into blocks; each is partitioned on its own. A class cannot reach across the seam between two blocks, and
that costs. So the classes, as wholes, are dealt out to new blocks, cut along other directions, in which the old
seams lie inside, and a local search runs in each.

Only one block for each core is in work at a time: besides the points, n times a few bytes are held.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from shoal.kernels.arrangement import numbered
from shoal.kernels.cuts import cut_blocks
from shoal.kernels.in_range import in_range
from shoal.kernels.mdav import mdav
from shoal.kernels.sweep import swept
from shoal.kernels.together import both_cores
from shoal.kernels.whole_classes import arranged, whole_classes
from shoal.progress import report


def block_labels(points: np.ndarray, k: int, size: int, rounds: int) -> np.ndarray:
    """Partition points block by block.

    Parameters
    ----------
    points : (n, d) float64, C-contiguous
        Finite coordinates, k ≤ n < 2³⁰, d ≥ 1. Left as they are.
    k : int
        Least size of a class, at least 2.
    size : int
        Records of a block, at least; k if that is more.
    rounds : int
        How often to mend the seams.

    Returns
    -------
    labels : (n,) int64
        Class of each record, numbered block by block.

    Guarantee: every class has k … 2k−1 records. The SSE is at most that of MDAV in each block on its own. The number
    of threads changes nothing.

    Complexity: O(n log n); linear in n for blocks of a given size. Besides the points and the labels some 30 bytes a
    record, and what MDAV and the local search need for one block on each core.
    """
    x = in_range(points)
    count = max(x.shape[0] // max(size, k), 1)
    rounds = rounds if count > 1 else 0
    total = count * (rounds + 1) + rounds * (rounds + 1) // 2
    labels = np.zeros(x.shape[0], dtype=np.int32)

    def partition(rows: np.ndarray) -> int:
        rows = arranged(x, rows)
        found, _ = mdav(x[rows], k)
        labels[rows] = found
        return int(found.max()) + 1

    def mend(rows: np.ndarray) -> int:
        rows = arranged(x, rows)
        found = swept(x[rows], numbered(labels[rows]), k)
        labels[rows] = found
        return int(found.max()) + 1

    order, bounds = cut_blocks(x, count)
    classes = _on_all_cores(partition, order, bounds, labels, (0, total))
    del order
    for turn in range(1, rounds + 1):
        order, bounds = whole_classes(x, labels, classes, count + turn, turn)
        done = count * turn + turn * (turn - 1) // 2
        classes = _on_all_cores(mend, order, bounds, labels, (done, total))
    return labels.astype(np.int64)


def _on_all_cores(
    work: Callable[[np.ndarray], int],
    order: np.ndarray,
    bounds: np.ndarray,
    labels: np.ndarray,
    progress: tuple[int, int],
) -> int:
    """Let every block number its classes from 0, then put the numbers one after the other; return how many."""
    blocks = [order[begin:end] for begin, end in itertools.pairwise(bounds)]
    classes = 0
    with both_cores() as pool:
        found: Iterator[int] = pool.map(work, blocks)
        for number, (rows, some) in enumerate(zip(blocks, found, strict=True), 1):
            labels[rows] += classes
            classes += some
            report(progress[0] + number, progress[1])
    return classes
