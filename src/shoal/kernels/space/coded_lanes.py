"""Coded attributes of the remaining records: codes in lanes, category counts, and distances from a table per query.

A query has a table with its distance from every category of every attribute, so that measuring a record takes one
look-up per attribute, whether the query is a record or the centroid.

- From a record, the table holds w·h/H (:class:`shoal.types.Coded`). Categories are numbered so that groups hold
  consecutive numbers; only the record's own groups differ from the largest distance, w.
- From the centroid of n records it holds w·N / (2Hn²), where N is the sum, over the levels of the attribute, of
  n² + Σ g² - 2n·g(c); g runs over the number of records in each group of the level, and g(c) is that of the group of
  category c. This is the squared distance from the centroid in the exact embedding. N is an integer: only the division
  and the product round.

Distances are summed attribute by attribute in float64.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.kernels.runtime.jit import inlined, kernel, part
from shoal.types.coded import Coded, Layout

WIDTH = 16
_CENTROID = -1  # code of a query whose table is not that of a record


class CodedLanes(NamedTuple):
    """Codes of the remaining points in lanes, and the number of remaining records in each group."""

    codes: np.ndarray  # (blocks, a, WIDTH) int32
    tally: np.ndarray  # by level and group: remaining records; a group is known by its first category
    squares: np.ndarray  # (levels,) sum of the squares of the counts of a level
    layout: Layout


class Aim(NamedTuple):
    """Table of distances from a query to every category."""

    table: np.ndarray  # by attribute and category
    code: np.ndarray  # (a,) category of the record that the table is for, or that of the centroid
    steps: np.ndarray  # (a, H + 1) w·h/H


def coded_lanes(points: Coded, rows: np.ndarray) -> CodedLanes:
    """Lay out ``points[rows]`` in blocks of lanes, and count all records in their groups."""
    g, a = points.layout, points.codes.shape[1]
    codes = np.zeros((-(-rows.shape[0] // WIDTH), a, WIDTH), np.int32)
    _put_in_lanes(points.codes, rows, codes)
    tally, squares = np.zeros(int(g.at[-1]), np.int64), np.zeros(len(g.times), np.int64)
    _count_all(points.codes, g, tally, squares)
    return CodedLanes(codes, tally, squares, g)


@kernel
def _put_in_lanes(codes, rows, out):
    for slot in range(rows.shape[0]):
        for a in range(codes.shape[1]):
            out[slot // WIDTH, a, slot % WIDTH] = codes[rows[slot], a]


@kernel
def _count_all(codes, g, tally, squares):
    for i in range(codes.shape[0]):
        for a in range(codes.shape[1]):
            for level in range(g.level[a], g.level[a + 1]):
                at = g.at[level] + g.low[g.at[level] + codes[i, a]]
                squares[level] += 2 * tally[at] + 1
                tally[at] += 1


def aim_for(points: Coded) -> Aim:
    """Allocate the table of a query."""
    g = points.layout
    steps = np.zeros((len(g.height), int(g.height.max()) + 1))
    for a, (weight, height) in enumerate(zip(g.weight.tolist(), g.height.tolist(), strict=True)):
        steps[a, : height + 1] = weight * (np.arange(height + 1) / height)
    return Aim(np.empty(int(g.start[-1])), np.full(len(g.height), _CENTROID, np.int32), steps)


@part
def _count_category_out(g, tally, squares, a, code):
    """Remove a record of a category of attribute a from the counts of its groups."""
    for level in range(g.level[a], g.level[a + 1]):
        at = g.at[level] + g.low[g.at[level] + code]
        squares[level] -= 2 * tally[at] - 1
        tally[at] -= 1


@part
def count_out(coded, slot):
    """Remove a record at `slot` from the counts."""
    if coded is None:
        return
    for a in range(coded.codes.shape[1]):
        code = coded.codes[slot // WIDTH, a, slot % WIDTH]
        _count_category_out(coded.layout, coded.tally, coded.squares, a, code)


@part
def move_codes(coded, slot, to):
    """Copy the codes of one slot to another."""
    if coded is None:
        return
    for a in range(coded.codes.shape[1]):
        coded.codes[to // WIDTH, a, to % WIDTH] = coded.codes[slot // WIDTH, a, slot % WIDTH]


@part
def aim_at_codes(coded, aim, slot):
    """Measure from the record at `slot`."""
    if coded is None:
        return
    for a in range(coded.codes.shape[1]):
        aim_at_category(coded.layout, aim, a, coded.codes[slot // WIDTH, a, slot % WIDTH])


@part
def aim_at_category(g, aim, a, code):
    """Measure attribute a from a category."""
    start, top = g.start[a], g.level[a + 1] - 1
    before = aim.code[a]
    if before == code:
        return
    begin, end = start, g.start[a + 1]
    if before != _CENTROID:
        begin, end = start + g.low[g.at[top] + before], start + g.high[g.at[top] + before]
    for c in range(begin, end):
        aim.table[c] = g.weight[a]
    below = g.height[a]
    for level in range(top, g.level[a] - 1, -1):
        below -= g.times[level]
        for c in range(g.low[g.at[level] + code], g.high[g.at[level] + code]):
            aim.table[start + c] = aim.steps[a, below]
    aim.code[a] = code


@part
def aim_at_mean(coded, aim, n):
    """Measure from the centroid of the n remaining records."""
    if coded is None:
        return
    g, wide = coded.layout, np.int64(n)
    for a in range(aim.code.shape[0]):
        start, categories = g.start[a], g.start[a + 1] - g.start[a]
        weight, whole = g.weight[a], float(2 * g.height[a]) * float(wide) * float(wide)
        aim.code[a] = _CENTROID
        first, levels = g.level[a], g.level[a + 1] - g.level[a]
        if levels == 1:
            constant = g.times[first] * (wide * wide + coded.squares[first])
            slope = g.times[first] * 2 * wide
            for c in range(categories):
                aim.table[start + c] = weight * (float(constant - slope * coded.tally[g.at[first] + c]) / whole)
            continue
        for c in range(categories):
            total = np.int64(0)
            for level in range(first, first + levels):
                inside = coded.tally[g.at[level] + g.low[g.at[level] + c]]
                total += g.times[level] * (wide * wide + coded.squares[level] - 2 * wide * inside)
            aim.table[start + c] = weight * (float(total) / whole)


@inlined
def scan_coded(x, coded, block, q, aim, low, high, out):
    """Write the squared distances from a query to sixteen points; return the mask of those ≤ `low` or ≥ `high`."""
    order, start = coded.layout.order, coded.layout.start
    for lane in range(WIDTH):
        out[lane] = 0.0
    for i in range(order.shape[0]):
        j = order[i]
        if j >= 0:
            for lane in range(WIDTH):
                t = x[block, j, lane] - q[j]
                out[lane] += t * t
        else:
            for lane in range(WIDTH):
                out[lane] += aim.table[start[~j] + coded.codes[block, ~j, lane]]
    mask = np.int64(0)
    for lane in range(WIDTH):
        if out[lane] <= low or out[lane] >= high:
            mask |= np.int64(1) << lane
    return mask


@part
def distance_at(x, coded, block, lane, q, aim):
    """Return the squared distance from a query to one point."""
    order, start, total = coded.layout.order, coded.layout.start, 0.0
    for i in range(order.shape[0]):
        j = order[i]
        if j >= 0:
            t = x[block, j, lane] - q[j]
            total += t * t
        else:
            total += aim.table[start[~j] + coded.codes[block, ~j, lane]]
    return total


class CodedRows(NamedTuple):
    """Codes of records attribute by attribute, and the number of remaining records in each group."""

    codes: np.ndarray  # (a, n) int32
    tally: np.ndarray  # as in `CodedLanes`
    squares: np.ndarray
    layout: Layout
    aim: Aim


def coded_rows(points: np.ndarray | Coded) -> CodedRows | None:
    """Lay out the codes of all records attribute by attribute; None without coded attributes."""
    if not isinstance(points, Coded):
        return None
    g = points.layout
    tally, squares = np.zeros(int(g.at[-1]), np.int64), np.zeros(len(g.times), np.int64)
    _count_all(points.codes, g, tally, squares)
    return CodedRows(points.codes.T.copy(), tally, squares, g, aim_for(points))  # codes are moved in place


@part
def measure_rows(x, coded, q, used, distance):
    """Write the squared distances of the first `used` records from a query, ``x[j, i]``."""
    for i in range(used):
        distance[i] = 0.0
    if coded is None:
        for j in range(x.shape[0]):
            for i in range(used):
                t = x[j, i] - q[j]
                distance[i] += t * t
        return
    order, start = coded.layout.order, coded.layout.start
    for h in range(order.shape[0]):
        j = order[h]
        if j >= 0:
            for i in range(used):
                t = x[j, i] - q[j]
                distance[i] += t * t
        else:
            for i in range(used):
                distance[i] += coded.aim.table[start[~j] + coded.codes[~j, i]]


@part
def aim_at_row(coded, at):
    """Measure categories from the record in column `at`."""
    if coded is None:
        return
    for a in range(coded.codes.shape[0]):
        aim_at_category(coded.layout, coded.aim, a, coded.codes[a, at])


@part
def aim_at_mean_of_rows(coded, n):
    """Measure categories from the centroid of the n remaining records."""
    if coded is None:
        return
    aim_at_mean(coded, coded.aim, n)


@part
def count_row_out(coded, at):
    """Remove the record in column `at` from the counts."""
    if coded is None:
        return
    for a in range(coded.codes.shape[0]):
        _count_category_out(coded.layout, coded.tally, coded.squares, a, coded.codes[a, at])


@part
def move_row(coded, at, to):
    """Copy the codes of one column to another."""
    if coded is None:
        return
    for a in range(coded.codes.shape[0]):
        coded.codes[a, to] = coded.codes[a, at]
