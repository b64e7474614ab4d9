"""V-MDAV by brute force: every pass scans all remaining records.

e is the record farthest from the global centroid c, and γ the gain factor, as in the paper.

The remaining points are stored coordinate by coordinate, ``x[j, slot]``, in row order, so that distances are computed
side by side and the first of several equally near slots is the lowest row. A removed point is NaN: no comparison with
it is ever true.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shoal.kernels.arithmetic.sums import in_range
from shoal.kernels.runtime.jit import announce, kernel, part
from shoal.kernels.space.class_centroids import nearest_class
from shoal.kernels.space.coded_lanes import (
    CodedRows,
    aim_at_mean_of_rows,
    aim_at_row,
    coded_rows,
    measure_rows,
    move_row,
)
from shoal.kernels.space.remaining import numbers_of, with_number
from shoal.progress import report
from shoal.types.coded import Coded

REMAINING, CLASSES, SLOTS = range(3)  #: the first counts of a state
_READ = 3  # how far `far` was read
_COORDINATES_PER_CALL = 100_000_000  # about a tenth of a second between two progress reports


class _State(NamedTuple):
    """Remaining records, and the scratch space of the class being formed."""

    x: np.ndarray  # (d, n) the points, NaN where removed
    row: np.ndarray  # (n,) row of each slot
    slot: np.ndarray  # (n,) slot of each row
    far: np.ndarray  # (n,) rows, the farthest from c first
    label: np.ndarray  # (n,) class of each row, -1 while it remains
    q: np.ndarray  # (d,) the point distances are measured from
    distance: np.ndarray  # (n,) squared distance of each slot from q
    close: np.ndarray  # (n,) squared distance of each slot from the nearest record of the class
    nearest: np.ndarray  # (k - 1,) slots of the nearest records to e, the nearest first
    counts: np.ndarray  # (4,) records in no class yet, classes formed, slots in use, how far `far` was read
    coded: CodedRows | None


@part
def measure(state, slot):
    """Compute the squared distance of every remaining record from the one in `slot`; -1: from the query."""
    x, q = state.x, state.q
    if slot >= 0:
        for j in range(x.shape[0]):
            q[j] = x[j, slot]
        aim_at_row(state.coded, slot)
    measure_rows(x, state.coded, q, state.counts[SLOTS], state.distance)


@part
def _take(state, slot):
    """Move the record in `slot` into the class being formed."""
    state.label[state.row[slot]] = state.counts[CLASSES]
    state.counts[REMAINING] -= 1
    for j in range(state.x.shape[0]):
        state.x[j, slot] = np.nan
    state.close[slot] = np.nan


@part
def _come_closer(state):
    """Update the distances to the class with those just measured, from one of its records."""
    for i in range(state.counts[SLOTS]):
        if state.distance[i] < state.close[i]:
            state.close[i] = state.distance[i]


@part
def _least(values, used):
    """Return the first slot of the smallest value, or -1 if no slot has one."""
    best, at = np.inf, -1
    for i in range(used):
        if values[i] < best:
            best, at = values[i], i
    return at


@part
def _select(state, e):
    """Write the slots of the k - 1 records nearest to the one in `e`, which was measured from."""
    nearest, distance = state.nearest, state.distance
    few, size = nearest.shape[0], 0
    for i in range(state.counts[SLOTS]):
        if i == e or not (size < few or distance[i] < distance[nearest[few - 1]]) or np.isnan(distance[i]):
            continue
        at = min(size, few - 1)
        while at > 0 and distance[i] < distance[nearest[at - 1]]:
            nearest[at] = nearest[at - 1]
            at -= 1
        nearest[at] = i
        size = min(size + 1, few)


@part
def _extend(state, k, gain):
    """Let the class take in records that lie much closer to it than to any other record; return the passes made."""
    passes, used = k - 1, state.counts[SLOTS]
    _come_closer(state)
    for i in range(k - 1):  # measure from every member; e is NaN by now, and was measured before
        measure(state, state.nearest[i])
        _come_closer(state)
    for i in range(k - 1):
        _take(state, state.nearest[i])
    for _ in range(k - 1):  # up to 2k - 1 records
        e = _least(state.close, used)
        if state.counts[REMAINING] < 2:  # no other record is left to compare with
            break
        measure(state, e)
        passes += 1
        state.distance[e] = np.nan
        other = _least(state.distance, used)
        if not state.close[e] < gain * state.distance[other]:
            break
        _take(state, e)
        _come_closer(state)
    return passes


@part
def compact(state):
    """Close the gaps that classes leave, if they make up an eighth of all slots; rows stay in order."""
    if state.counts[SLOTS] - state.counts[REMAINING] <= state.counts[SLOTS] // 8:
        return
    to = 0
    for i in range(state.counts[SLOTS]):
        row = state.row[i]
        if state.label[row] >= 0:
            continue
        for j in range(state.x.shape[0]):
            state.x[j, to] = state.x[j, i]
        move_row(state.coded, i, to)
        state.row[to], state.slot[row] = row, to
        to += 1
    state.counts[SLOTS] = to


@kernel
def v_mdav_steps(state, k, gain, budget):
    """Form classes until fewer than k records remain or `budget` coordinates were read."""
    counts, d, spent = state.counts, state.x.shape[0], 0
    while counts[REMAINING] >= k and spent < budget:
        compact(state)
        while state.label[state.far[counts[_READ]]] >= 0:
            counts[_READ] += 1
        e = state.slot[state.far[counts[_READ]]]
        for i in range(counts[SLOTS]):
            state.close[i] = np.inf
            if state.label[state.row[i]] >= 0:
                state.close[i] = np.nan
        measure(state, e)
        _select(state, e)
        _take(state, e)
        spent += counts[SLOTS] * d
        if gain > 0.0:
            spent += _extend(state, k, gain) * counts[SLOTS] * d
        else:
            for i in range(k - 1):
                _take(state, state.nearest[i])
        counts[CLASSES] += 1


def v_mdav(points: np.ndarray | Coded, k: int, gamma: float) -> np.ndarray:
    """Partition points by V-MDAV, with gain factor `gamma` ≥ 0.

    Classes are numbered in the order they are formed. d_in < γ·d_out is decided on squares.
    """
    announce(v_mdav_steps)
    points = in_range(points)
    points = with_number(points) if isinstance(points, Coded) else points
    x = numbers_of(points)
    n = len(x)
    rows = np.arange(n)
    state = _State(
        x.T.copy(),
        rows,
        rows.copy(),
        np.empty(n, np.int64),
        np.full(n, -1, np.int64),
        _centroid(x),
        np.empty(n),
        np.empty(n),
        np.empty(k - 1, np.int64),
        np.array([n, 0, n, 0], np.int64),
        coded_rows(points),
    )
    _measure_from_centroid(state)
    state.far[:] = np.argsort(-state.distance, kind="stable")
    while state.counts[REMAINING] >= k:
        v_mdav_steps(state, k, float(gamma) * float(gamma), _COORDINATES_PER_CALL)
        report(n - int(state.counts[REMAINING]), n)
    return _leftovers_to_the_nearest(points, state.label)


@kernel
def _measure_from_centroid(state):
    aim_at_mean_of_rows(state.coded, state.counts[REMAINING])
    measure(state, np.int64(-1))


def _centroid(points: np.ndarray) -> np.ndarray:
    return np.array([math.fsum(column) / len(column) for column in points.T.tolist()])


def _leftovers_to_the_nearest(points: np.ndarray | Coded, labels: np.ndarray) -> np.ndarray:
    """Put records without a class into the class whose centroid, when it was formed, is nearest."""
    left = np.flatnonzero(labels < 0)
    if left.shape[0]:
        labels[left] = nearest_class(points, labels, left)
    return labels
