"""Every move changes the SSE by what it says, keeps k and the room there is, and keeps the books; or does nothing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.refine.annealing import (
    Ground,
    _anneal,
    annealed,
    best_swap,
    create,
    dissolve,
    ground,
    rotate,
    schedule,
    shift_or_swap,
)
from shoal.kernels.refine.class_state import Arrangement, arrange, laid_out, numbered, total_sse
from shoal.kernels.runtime.lanes import gap, padded

_spec = importlib.util.spec_from_file_location("oracle_moves", Path(__file__).parents[2] / "oracles" / "moves.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

_compiled: Any = numba.njit(error_model="numpy", _nrt=False, no_cfunc_wrapper=True)
KINDS = {"shift_or_swap": 0, "rotate": 1, "dissolve": 2, "create": 3}
ENDLESS = 1e300  # a limit is finite


@_compiled
def _make(kind, a, near, i, y, c, k, limit):
    if kind == 0:
        return shift_or_swap(a, i, c, k, limit)
    if kind == 1:
        return rotate(a, i, y, c, k, limit)
    if kind == 2:
        return dissolve(a, near, a.label[i], limit)
    return create(a, near, i, k, limit)


@_compiled
def _gap(a, i, b, j):
    return gap(a, i, b, j)


@_compiled
def _swap(a, i, b):
    return best_swap(a, i, b, gap(a.x, i, a.mean, b))


class Case:
    """Points, some of them equal, in classes of k to 2k−1 and at times more."""

    def __init__(self, seed: int, n: int, d: int, k: int, grid: int, large: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.k = min(k, n)
        self.points = self.rng.integers(0, grid, (n, d)) / 4.0 if grid else self.rng.normal(size=(n, d))
        classes = max(n // self.k, 1)
        if large:
            classes = int(self.rng.integers(1, classes + 1))
        sizes = self.k + self.rng.multinomial(n - classes * self.k, np.full(classes, 1 / classes))
        self.labels = self.rng.permutation(np.repeat(np.arange(classes), sizes))
        self.a = arrange(laid_out(self.points), self.labels, self.k)
        self.near = ground(np.ascontiguousarray(self.points), self.k).near

    @property
    def sse(self) -> float:
        return float(oracle.sse(self.points.tolist(), self.a.label.tolist()))

    def draw(self) -> tuple[int, int, int] | None:
        """Draw records i and y of two classes, and a third class."""
        used = np.flatnonzero(self.a.size)
        if len(used) < 3:
            return None
        home, b, c = self.rng.permutation(used)[:3]
        i, y = (int(self.rng.choice(self.a.member[q, : self.a.size[q]])) for q in (home, b))
        return i, y, int(c)


def check(a: Arrangement, points: np.ndarray, k: int) -> None:
    """Check that the books agree with each other, and with what is computed afresh from the labels."""
    free = a.free[: a.spare[0]].tolist()
    assert oracle.faults(a.label.tolist(), a.place.tolist(), a.size.tolist(), a.member.tolist(), free) == []
    used = np.flatnonzero(a.size)
    assert a.size[used].min() >= k
    assert a.size.max() <= a.member.shape[1]
    for c in used:
        inside = points[a.label == c]
        mean = inside.mean(axis=0)
        assert a.mean[c, : points.shape[1]] == pytest.approx(mean, abs=1e-12)
        assert a.own[a.label == c] == pytest.approx(((inside - mean) ** 2).sum(axis=1), abs=1e-12)
    assert total_sse(a) == pytest.approx(oracle.sse(points.tolist(), a.label.tolist()), abs=1e-9)


def snapshot(a: Arrangement) -> tuple[Any, ...]:
    """Return what a move that is not made leaves alone; in which order members stand may differ."""
    return (a.label.tolist(), a.size.tolist(), int(a.spare[0]), sorted(a.free[: a.spare[0]].tolist()))


CASES = {
    "seed": st.integers(0, 10**6),
    "n": st.integers(4, 40),
    "d": st.integers(1, 9),
    "k": st.integers(2, 5),
    "grid": st.sampled_from([0, 1, 2, 4]),
    "large": st.booleans(),
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(**CASES)
def test_the_change_is_that_of_the_sse(kind: str, seed: int, n: int, d: int, k: int, grid: int, large: bool) -> None:
    case = Case(seed, n, d, k, grid, large)
    room = max(2 * case.k - 1, int(np.bincount(case.labels).max()))
    for _ in range(12):
        drawn = case.draw()
        if drawn is None:
            break
        before, old = case.sse, snapshot(case.a)
        change = _make(KINDS[kind], case.a, case.near, *drawn, case.k, ENDLESS)
        check(case.a, case.points, case.k)
        assert case.a.size.max() <= room
        if change == np.inf:
            assert snapshot(case.a) == old
        else:
            assert snapshot(case.a) != old
            assert case.sse - before == pytest.approx(change, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(**CASES, share=st.sampled_from([-np.inf, -1.0, -1e-9]))
def test_a_move_beyond_the_limit_leaves_all_as_it_was(
    kind: str, seed: int, n: int, d: int, k: int, grid: int, large: bool, share: float
) -> None:
    case = Case(seed, n, d, k, grid, large)
    for _ in range(12):
        drawn = case.draw()
        if drawn is None:
            break
        before, old = case.sse, snapshot(case.a)
        limit = share * before if before else share
        change = _make(KINDS[kind], case.a, case.near, *drawn, case.k, limit)
        check(case.a, case.points, case.k)
        if share == -np.inf or change == np.inf:
            assert change == np.inf
            assert snapshot(case.a) == old
        else:
            assert change <= limit
            assert case.sse - before == pytest.approx(change, abs=1e-9)


def test_every_move_is_made_at_times() -> None:
    """So that the two tests above do not pass for want of moves."""
    made = dict.fromkeys(KINDS, 0)
    for kind, number in KINDS.items():
        for seed in range(30):
            case = Case(seed, 30, 2, 3, 0, large=kind != "dissolve")
            drawn = case.draw()
            if drawn is not None:
                made[kind] += _make(number, case.a, case.near, *drawn, case.k, ENDLESS) < np.inf
    assert min(made.values()) > 5, made


@given(**CASES)
@settings(max_examples=60)
def test_the_swap_is_the_best_there_is(seed: int, n: int, d: int, k: int, grid: int, large: bool) -> None:
    case = Case(seed, n, d, k, grid, large)
    drawn = case.draw()
    if drawn is None:
        return
    i, _, b = drawn
    partner, change = _swap(case.a, i, b)
    label, changes = case.a.label.tolist(), {}
    for y in np.flatnonzero(case.a.label == b):
        other = list(label)
        other[i], other[y] = b, label[i]
        changes[int(y)] = oracle.sse(case.points.tolist(), other) - case.sse
    assert change == pytest.approx(min(changes.values()), abs=1e-9)
    assert changes[partner] == pytest.approx(change, abs=1e-9)


@given(**CASES)
@settings(max_examples=40)
def test_a_rotation_is_the_best_there_is(seed: int, n: int, d: int, k: int, grid: int, large: bool) -> None:
    case = Case(seed, n, d, k, grid, large)
    drawn = case.draw()
    if drawn is None:
        return
    i, y, c = drawn
    label, points, sizes = case.a.label.tolist(), case.points.tolist(), case.a.size
    home, b, before = label[i], label[y], case.sse
    chain = list(label)
    chain[i], chain[y] = b, c
    ways = [chain] if sizes[home] > case.k and sizes[c] < case.a.member.shape[1] else []
    for z in np.flatnonzero(case.a.label == c):
        ring = list(chain)
        ring[z] = home
        ways.append(ring)
    change = _make(KINDS["rotate"], case.a, case.near, i, y, c, case.k, ENDLESS)
    assert change == pytest.approx(min(oracle.sse(points, way) for way in ways) - before, abs=1e-9)


def test_a_record_does_not_leave_a_class_of_k() -> None:
    points = np.array([[0.0], [0.1], [5.0], [5.1], [4.9], [9.0], [9.1]])
    a = arrange(laid_out(points), np.array([0, 0, 1, 1, 1, 2, 2]), 2)
    near = ground(points, 2).near
    assert _make(KINDS["create"], a, near, 0, 0, 0, 2, ENDLESS) == np.inf  # no class number is free
    assert _make(KINDS["shift_or_swap"], a, near, 0, 0, 1, 2, ENDLESS) < np.inf
    assert sorted(a.size.tolist()) == [2, 2, 3]  # they changed places


def test_a_full_class_takes_in_no_record() -> None:
    points = np.arange(6.0).reshape(6, 1)
    a = arrange(laid_out(points), np.array([0, 0, 0, 1, 1, 1]), 2)  # room for three in each
    near = ground(points, 2).near
    assert _make(KINDS["dissolve"], a, near, 0, 0, 1, 2, ENDLESS) == np.inf
    assert snapshot(a)[1] == [3, 3, 0]
    assert _make(KINDS["shift_or_swap"], a, near, 0, 0, 1, 2, ENDLESS) < np.inf
    assert snapshot(a)[1] == [3, 3, 0]
    check(a, points, 2)


@given(**CASES, temperature=st.sampled_from([0.0, 0.1, 2.0, 1e6]))
@settings(max_examples=60)
def test_one_move_at_a_time(seed: int, n: int, d: int, k: int, grid: int, large: bool, temperature: float) -> None:
    case = Case(seed, n, d, k, grid, large)
    where = ground(case.points, case.k)
    random = np.array([seed], np.uint64)
    for _ in range(25):
        before = case.sse
        change = _anneal(case.a, where, case.k, 1, temperature, random)
        assert case.sse - before == pytest.approx(change, abs=1e-9)
        if temperature == 0.0:
            assert change <= 0.0
        check(case.a, case.points, case.k)


@given(**CASES, temperature=st.sampled_from([0.0, 0.5, 1e6]))
@settings(max_examples=40)
def test_all_changes_add_up(seed: int, n: int, d: int, k: int, grid: int, large: bool, temperature: float) -> None:
    case = Case(seed, n, d, k, grid, large)
    before = case.sse
    random = np.array([seed], np.uint64)
    change = _anneal(case.a, ground(case.points, case.k), case.k, 3000, temperature, random)
    assert case.sse - before == pytest.approx(change, abs=1e-7)
    check(case.a, case.points, case.k)


@given(**CASES)
@settings(max_examples=40)
def test_annealed_is_never_worse_and_a_stop_is_heeded(
    seed: int, n: int, d: int, k: int, grid: int, large: bool
) -> None:
    case = Case(seed, n, d, k, grid, large)
    where = ground(case.points, case.k)
    before, told = case.sse, []

    def go_on(share: float) -> bool:
        told.append(share)
        return len(told) < 5

    whole = annealed(where, case.labels, case.k, seed, 2000, quench=5)
    stopped = annealed(where, case.labels, case.k, seed, 2000, quench=5, go_on=go_on)
    assert len(told) <= 5
    assert told == sorted(told)
    for labels in (whole, stopped):
        assert oracle.sse(case.points.tolist(), labels.tolist()) <= before + 1e-9
        assert np.array_equal(labels, numbered(labels))
        assert np.bincount(labels).min() >= case.k
    assert np.array_equal(whole, annealed(where, case.labels, case.k, seed, 2000, quench=5))


def test_the_schedule_cools_and_makes_the_moves_asked_for() -> None:
    calls = schedule(4_000_000, 1_000_000, 2.0)
    temperatures = [t for _, t, _ in calls]
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[0] == 2.0
    assert temperatures[-1] == 0.0
    assert sum(some for _, _, some in calls) == 5_000_000
    assert calls[-1][0] == 1.0
    assert [t for _, t, _ in schedule(0, 10, 2.0)] == [0.0]


def test_equal_records_have_no_heat_and_stay() -> None:
    points = np.ones((8, 3))
    where = ground(points, 2)
    assert isinstance(where, Ground)
    assert not where.heat.any()
    labels = np.repeat(np.arange(4), 2)
    assert np.array_equal(annealed(where, labels, 2, 0, 1000), labels)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 13))
def test_gap_is_the_squared_distance(seed: int, d: int) -> None:
    x = np.random.default_rng(seed).normal(size=(5, d))
    points = padded(x)
    assert points.shape[1] % 4 == 0
    for i in range(5):
        for j in range(5):
            assert _gap(points, i, points, j) == pytest.approx(((x[i] - x[j]) ** 2).sum(), rel=1e-14)
