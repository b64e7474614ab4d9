"""Refining: never worse, k kept, the same for the same seed, and it stops when told to."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.deadline import stopping_after
from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.refine import refine as refining
from shoal.kernels.refine.refine import Effort, cost_to_refine, cost_to_start, effort_for, quick_start, refine
from shoal.kernels.runtime.jit import together
from shoal.progress import Enough, listening

_spec = importlib.util.spec_from_file_location("oracle_moves", Path(__file__).parents[2] / "oracles" / "moves.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

SHORT = Effort(
    2, 20_000, 200, 2, 20, 200, generations=2, quench=10, priced=50
)  # every path that `best` takes, in no time
LONG = Effort(2, 10**9, 10**9, 1, 10**7, 0, quench=10)  # for minutes, unless it is stopped


def table(seed: int, n: int, d: int, grid: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, grid, (n, d)) / 8.0 if grid else rng.normal(size=(n, d))


def start(seed: int, n: int, k: int, few: bool = False) -> np.ndarray:
    """Return a partition into classes of at least k; of a few classes, so that some exceed 2k−1."""
    rng = np.random.default_rng(seed)
    classes = max(n // k // (2 if few else 1), 1)
    sizes = k + rng.multinomial(n - classes * k, np.full(classes, 1 / classes))
    return rng.permutation(np.repeat(np.arange(classes), sizes))


def valid(points: np.ndarray, before: np.ndarray, after: np.ndarray, k: int) -> None:
    sizes = np.bincount(after)
    assert len(after) == len(points)
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, int(np.bincount(before).max()))
    first = np.unique(after, return_index=True)[1]
    assert np.array_equal(first, np.sort(first))  # numbered by their first rows
    assert sse(points, after) <= sse(points, before) * (1 + 1e-9) + 1e-300


CASES = {
    "seed": st.integers(0, 10**6),
    "n": st.integers(2, 60),
    "d": st.integers(1, 6),
    "k": st.integers(2, 7),
    "grid": st.sampled_from([0, 1, 2, 6]),
    "few": st.booleans(),
}


@given(**CASES)
@settings(max_examples=40)
def test_never_worse_k_kept_and_reproducible(seed: int, n: int, d: int, k: int, grid: int, few: bool) -> None:
    k = min(k, n)
    points, before = table(seed, n, d, grid), start(seed, n, k, few)
    kept = points.copy(), before.copy()
    after = refine(points, before, k, SHORT, seed)
    valid(points, before, after, k)
    assert np.array_equal(after, refine(points, before, k, SHORT, seed))
    assert np.array_equal(points, kept[0])
    assert np.array_equal(before, kept[1])


@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), d=st.integers(1, 6), k=st.integers(2, 7))
@settings(max_examples=30)
def test_classes_do_not_depend_on_the_order_of_rows(seed: int, n: int, d: int, k: int) -> None:
    k = min(k, n)
    points, before = table(seed, n, d), start(seed, n, k)
    shuffled = np.random.default_rng(seed + 1).permutation(n)
    here = refine(points, before, k, SHORT, seed)
    there = refine(points[shuffled], before[shuffled], k, SHORT, seed)
    assert len(set(zip(here[shuffled], there, strict=True))) == len(set(here)) == len(set(there))


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 9),
    d=st.integers(1, 3),
    k=st.integers(2, 4),
    grid=st.sampled_from([0, 3]),
)
@settings(max_examples=12)
def test_never_below_the_optimum(seed: int, n: int, d: int, k: int, grid: int) -> None:
    k = min(k, n)
    points = table(seed, n, d, grid)
    optimum = oracle.least(points.tolist(), k)
    for effort in ("fast", "default"):
        found = refine(points, start(seed, n, k), k, effort_for(effort, points, k), seed)
        assert oracle.sse(points.tolist(), found.tolist()) >= optimum - 1e-12


def test_mostly_the_optimum() -> None:
    reached = 0
    for seed in range(10):
        points = table(seed, 9, 2)
        found = refine(points, start(seed, 9, 2), 2, effort_for("default", points, 2), seed)
        reached += sse(points, found) <= oracle.least(points.tolist(), 2) * (1 + 1e-9)
    assert reached >= 9


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-20, 1e20, 1e150, 1e300])
def test_scale_does_not_matter(scale: float) -> None:
    points, before = table(3, 60, 3), start(3, 60, 3)
    plain, scaled = (refine(p, before, 3, SHORT, 5) for p in (points, points * scale))
    sizes = np.bincount(scaled)
    assert (sizes.min() >= 3, sizes.max() <= 5) == (True, True)
    # rounded otherwise, it may take another way; on the plain points it must be as good
    assert sse(points, scaled) <= 1.2 * sse(points, plain) < sse(points, before) / 2


def test_a_large_offset_is_no_harm() -> None:
    points, before = table(3, 60, 3), start(3, 60, 3)
    after = refine(points + 1e6, before, 3, SHORT, 5)
    valid(points + 1e6, before, after, 3)
    assert sse(points, after) < sse(points, before) / 2


def test_equal_rows_and_a_single_class_stay() -> None:
    labels = start(0, 20, 3)
    ones = refine(np.ones((20, 2)), labels, 3, SHORT, 0)
    assert len(set(zip(ones, labels, strict=True))) == len(set(ones)) == 6
    assert refine(table(0, 7, 2), np.zeros(7, np.int64), 7, SHORT, 0).tolist() == [0] * 7
    assert refine(table(0, 7, 2), np.zeros(7, np.int64), 2, SHORT, 0).tolist() == [0] * 7


def test_other_seeds_go_other_ways_and_more_effort_pays() -> None:
    points = table(1, 120, 4)
    before = quick_start(points, 4)
    short, long = SHORT, SHORT._replace(runs=4, moves=40 * SHORT.moves, per_record=40 * SHORT.per_record)
    losses = [sse(points, refine(points, before, 4, short, seed)) for seed in (0, 1)]
    assert losses[0] != losses[1]
    assert sse(points, refine(points, before, 4, long, 0)) < min(losses) < sse(points, before)


# a large table


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a table of more than 40 records for a large one."""
    monkeypatch.setattr(refining, "WHOLE", 40)
    monkeypatch.setattr(refining, "_BLOCK", 20)


@pytest.mark.usefixtures("blocks")
@given(seed=st.integers(0, 10**6), n=st.integers(41, 400), d=st.integers(1, 4), k=st.integers(2, 30), few=st.booleans())
@settings(max_examples=30)
def test_blocks_are_valid_and_reproducible(seed: int, n: int, d: int, k: int, few: bool) -> None:
    points, before = table(seed, n, d, 40), start(seed, n, k, few)
    after = refine(points, before, k, SHORT, seed)
    valid(points, before, after, k)
    assert np.array_equal(after, refine(points, before, k, SHORT, seed))


@pytest.mark.usefixtures("blocks")
def test_blocks_do_not_depend_on_threads_nor_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    points, before = table(2, 900, 3), start(2, 900, 3)
    found = []
    for threads in (1, 2, 7):
        monkeypatch.setenv("SHOAL_THREADS", str(threads))
        found.append(refine(points, before, 3, SHORT, 7))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert sse(points, found[0]) < 0.5 * sse(points, before)
    shuffled = np.random.default_rng(0).permutation(900)
    there = refine(points[shuffled], before[shuffled], 3, SHORT, 7)
    assert len(set(zip(found[0][shuffled], there, strict=True))) == len(set(there))


def test_wholes_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    points, before = table(2, 200, 3), start(2, 200, 3)
    found = []
    for threads in (1, 2, 7):
        monkeypatch.setenv("SHOAL_THREADS", str(threads))
        found.append(refine(points, before, 3, SHORT, 7))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.usefixtures("blocks")
def test_all_rounds_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    points, before = table(4, 700, 2), start(4, 700, 3)
    turns: list[int] = []
    plain = refining.whole_classes
    monkeypatch.setattr(refining, "whole_classes", lambda *given: (turns.append(given[-1]), plain(*given))[1])
    refine(points, before, 3, SHORT, 0)
    assert turns == [1, 2]


# an end before the end


@pytest.mark.parametrize("large", [False, True])
def test_a_deadline_ends_it(monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    if large:
        monkeypatch.setattr(refining, "WHOLE", 40)
        monkeypatch.setattr(refining, "_BLOCK", 20)
    points, before = table(5, 300, 3), start(5, 300, 3)
    refine(points, before, 3, SHORT, 1)  # compiled by now
    for seconds in (0.0, 0.3):
        began = time.monotonic()
        with stopping_after(seconds):
            after = refine(points, before, 3, LONG, 1)
        assert seconds <= time.monotonic() - began < 5.0
        valid(points, before, after, 3)
    assert sse(points, after) < sse(points, before)


def test_work_that_ends_in_time_is_the_same_with_a_deadline() -> None:
    points, before = table(5, 100, 3), start(5, 100, 3)
    with stopping_after(600):
        after = refine(points, before, 3, SHORT, 1)
    assert np.array_equal(after, refine(points, before, 3, SHORT, 1))


class Listener:
    """Calls `then` at the second report."""

    def __init__(self, then: Callable[[], None]) -> None:
        self.then, self.heard = then, list[tuple[int, int]]()

    def stage(self, name: str) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def report(self, done: int, total: int) -> None:
        self.heard.append((done, total))
        if len(self.heard) == 2:
            self.then()


def enough() -> None:
    raise Enough


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("large", [False, True])
def test_a_listener_with_enough_ends_it(monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    if large:
        monkeypatch.setattr(refining, "WHOLE", 40)
        monkeypatch.setattr(refining, "_BLOCK", 20)
    points, before = table(6, 300, 3), start(6, 300, 3)
    listener = Listener(enough)
    began = time.monotonic()
    with listening(listener):
        after = refine(points, before, 3, LONG, 1)
    assert time.monotonic() - began < 5.0
    assert len(listener.heard) == 2
    valid(points, before, after, 3)
    assert sse(points, after) < sse(points, before)


def test_an_interrupt_is_not_swallowed_and_leaves_no_thread() -> None:
    points, before = table(6, 300, 3), start(6, 300, 3)
    threads = threading.active_count()
    began = time.monotonic()
    with listening(Listener(interrupt)), pytest.raises(KeyboardInterrupt):
        refine(points, before, 3, LONG, 1)
    assert time.monotonic() - began < 5.0
    assert threading.active_count() == threads


def test_progress_rises_to_the_end() -> None:
    points, before = table(6, 300, 3), start(6, 300, 3)
    listener = Listener(lambda: None)
    with listening(listener):
        refine(points, before, 3, SHORT, 1)
    done = [share for share, total in listener.heard if total == 1000]  # neighbours are looked up before, by records
    assert len(listener.heard) - len(done) <= 1
    assert done == sorted(done)
    assert done[-1] == listener.heard[-1][1] == 1000


# together


def test_results_come_in_order() -> None:
    def work(item: int, go_on: Callable[[float], bool]) -> int:
        time.sleep(0.01 * (5 - item))
        assert go_on(1.0)
        return item * item

    assert together(work, range(5)) == ([0, 1, 4, 9, 16], False)


def test_an_error_in_the_work_is_raised() -> None:
    def work(item: int, go_on: Callable[[float], bool]) -> int:
        if item == 1:
            raise ZeroDivisionError
        return item

    with pytest.raises(ZeroDivisionError):
        together(work, range(3))


def test_work_not_begun_gives_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_THREADS", "1")

    def work(item: int, go_on: Callable[[float], bool]) -> int:
        while go_on(0.0):
            time.sleep(0.005)
        return item

    with stopping_after(0.1):
        assert together(work, range(3)) == ([0, None, None], True)


# the computed change


@pytest.mark.parametrize("n", [100, 1_080, 29_999, 30_001, 10**6, 10**8])
@pytest.mark.parametrize("d", [2, 13, 60])
def test_more_effort_costs_more_and_default_about_three_times_mdav(n: int, d: int) -> None:
    points = np.broadcast_to(0.0, (n, d))
    costs = [cost_to_refine(effort_for(name, points, 3), points, 3) for name in ("fast", "default", "best")]
    assert costs[0] <= costs[1] < costs[2]
    assert costs[1] <= 1.01 * max(1.7e9, 1.7 * cost_to_start(points, 3))
