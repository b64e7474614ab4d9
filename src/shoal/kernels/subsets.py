"""Records in subsets by their confidential values, each class taking one record of every subset ([SC15] Section 7).

Subsets are numbered from 0 in ascending order of the values; there are as many as a class has records, `size`. For the
search through a tree every node knows which subsets it still holds, as bits; where there are more subsets than bits,
neighbouring ones share one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shoal.kernels.groups import equal_records
from shoal.kernels.jit import part
from shoal.kernels.remaining import WIDTH, Remaining, take
from shoal.kernels.tree import FAN, Tree

_BITS = 62


class Subsets(NamedTuple):
    """Which subset each record is in, and what is left of each."""

    of_member: np.ndarray  # (n,) int32, in the order of the members of what remains
    of_slot: np.ndarray  # (slots,) int32
    left: np.ndarray  # (size,) int64 records
    classes: int  # in all
    centre: np.ndarray  # (2,) int64 the central subsets, twice the same if there is one
    bit: np.ndarray  # (size,) int64
    begin: np.ndarray  # (bits + 1,) int64 the first subset of each bit
    holds: np.ndarray  # (blocks, FAN) int64 bits of the subsets that a node of the tree holds; empty without a tree


def class_size(n: int, k: int, t: float) -> int:
    """Return how many records a class gets at least: [SC15] eq. (3), then eq. (4) with the floor.

    Guarantee: at least k; fewer than n // size records are left over if all n // size classes have that size. t counts
    as it is written in decimals, without rounding.

    >>> class_size(1080, 2, 0.01), class_size(1080, 2, 0.25), class_size(7, 2, 0)
    (49, 2, 7)
    """
    size = max(k, math.ceil(n / (2 * (n - 1) * Fraction(str(float(t))) + 1)))
    return size + (n % size) // (n // size)


def central(size: int) -> tuple[int, int]:
    """Return the central subsets, which take the records left over; twice the same where there is one."""
    return (size - 1) // 2, size // 2


def subset_of_rows(values: np.ndarray, size: int) -> np.ndarray:
    """Return the subset of each record, by its rank in the order of (value, row).

    >>> subset_of_rows(np.array([5, 1, 4, 1, 3]), 2)
    array([1, 0, 1, 0, 0])
    """
    n = values.shape[0]
    sizes = np.full(size, n // size)
    low, high = central(size)
    sizes[low] += (n % size + 1) // 2
    sizes[high] += (n % size) // 2
    found = np.empty(n, np.int64)
    found[np.argsort(values, kind="stable")] = np.repeat(np.arange(size), sizes)
    return found


def equal_in_subset(points: np.ndarray, subset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Group records that are equal and in the same subset, as `equal_records` does."""
    return equal_records(np.column_stack((points, subset.astype(np.float64))))


def subsets_of(subset: np.ndarray, size: int, remaining: Remaining, tree: Tree | None = None) -> Subsets:
    """Lay out the subsets for all records that remain; `mark` or `name_slots` must follow."""
    bits = min(size, _BITS)
    bit = np.arange(size) * bits // size
    inside = subset[remaining.members]
    return Subsets(
        inside.astype(np.int32),
        np.zeros(remaining.head.shape[0], dtype=np.int32),
        np.bincount(inside[remaining.label < 0], minlength=size),
        inside.shape[0] // size,
        np.array(central(size)),
        bit,
        np.searchsorted(bit, np.arange(bits + 1)),
        np.zeros((0 if tree is None else tree.reach.shape[0], FAN), dtype=np.int64),
    )


@part
def name_slots(subsets, remaining):
    """Write down the subset of every slot in use, none of which is empty."""
    for slot in range(remaining.counts[3]):
        subsets.of_slot[slot] = subsets.of_member[remaining.head[slot]]


@part
def mark(subsets, remaining, tree):
    """Write down which subsets each node of a tree that was just grown holds."""
    name_slots(subsets, remaining)
    holds = subsets.holds
    used = remaining.counts[3]
    nodes = (used + WIDTH - 1) // WIDTH
    for level in range(tree.levels[0]):
        parents = (nodes + FAN - 1) // FAN
        for node in range(parents * FAN):
            found = np.int64(0)
            if node < nodes and level == 0:
                for slot in range(node * WIDTH, min((node + 1) * WIDTH, used)):
                    found |= np.int64(1) << subsets.bit[subsets.of_slot[slot]]
            elif node < nodes:
                for lane in range(FAN):
                    found |= holds[tree.offset[level - 1] + node, lane]
            holds[tree.offset[level] + node // FAN, node % FAN] = found
        nodes = parents


@part
def unmark(subsets, remaining, tree, slot):
    """Take the subset of a slot that was just emptied from every node that no longer holds it."""
    holds, bit = subsets.holds, subsets.bit
    gone = bit[subsets.of_slot[slot]]
    node, level = slot // WIDTH, 0
    for other in range(node * WIDTH, min((node + 1) * WIDTH, remaining.counts[3])):
        if remaining.head[other] < remaining.end[other] and bit[subsets.of_slot[other]] == gone:
            return
    mask = np.int64(1) << gone
    while True:
        block = tree.offset[level] + node // FAN
        holds[block, node % FAN] &= ~mask
        level += 1
        if level == tree.levels[0]:
            return
        for lane in range(FAN):
            if holds[block, lane] & mask:
                return
        node //= FAN


@part
def classes_left(subsets, remaining):
    """Return how many classes are still to be formed."""
    return subsets.classes - remaining.counts[1]


@part
def taken_twice(subsets, remaining):
    """Return the subset of which the class being formed takes a second record, -1 if of none.

    [SC15] Alg. 3 asks for |S_i| > |S_1|, which fails where S_1 is itself central: here, more records than classes are
    left. Of two central subsets the lower one comes first.
    """
    after = classes_left(subsets, remaining) - 1
    for i in range(2):
        if subsets.left[subsets.centre[i]] - 1 > after:
            return subsets.centre[i]
    return np.int64(-1)


@part
def take_of_subset(subsets, remaining, slot):
    """Move the first record at `slot` into the class being formed; tell whether it was the last one there."""
    subsets.left[subsets.of_slot[slot]] -= 1
    return take(remaining, slot)
