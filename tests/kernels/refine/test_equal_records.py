"""Equal records move together: invariants, and that no shift of all copies of a record lowers the loss."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.refine.annealing import _COPIES, _different
from shoal.kernels.refine.class_state import numbered
from shoal.kernels.refine.equal_records import _NEAR, settle
from shoal.partition._atoms import keep_equal_together


def table(seed: int, n: int, d: int, values: int) -> np.ndarray:
    """Sorted records on a grid, many of them equal."""
    x = np.random.default_rng(seed).integers(0, values, size=(n, d)).astype(np.float64)
    return x[np.lexsort(x.T[::-1])]


def units_of(x: np.ndarray) -> np.ndarray:
    return np.unique(x, axis=0, return_inverse=True)[1].reshape(-1)


def start(x: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Classes of at least k records, drawn at random, that split no equal records."""
    units = units_of(x)
    order = np.random.default_rng(seed).permutation(int(units.max()) + 1)
    sizes, into, own = np.bincount(units), np.empty(len(order), np.int64), 0
    held = 0
    for unit in order:
        into[unit] = own
        held += int(sizes[unit])
        if held >= k:
            own, held = own + 1, 0
    into[into == own] = max(own - 1, 0)
    return numbered(into[units])


def shifts(x: np.ndarray, labels: np.ndarray, k: int, largest: int) -> list[np.ndarray]:
    """All partitions in which one distinct record with all its copies is in another class, as moves allow."""
    units, found = units_of(x), []
    for unit, into in itertools.product(range(int(units.max()) + 1), range(int(labels.max()) + 1)):
        other = labels.copy()
        other[units == unit] = into
        sizes = np.bincount(other, minlength=int(labels.max()) + 1)
        if (sizes[sizes > 0] >= k).all() and sizes[into] <= largest and not np.array_equal(other, labels):
            found.append(numbered(other))
    return found


@given(
    seed=st.integers(0, 10**6), n=st.integers(6, 40), d=st.integers(1, 3), values=st.integers(2, 5), k=st.integers(2, 5)
)
@settings(max_examples=40)
def test_everything_that_must_hold_and_no_shift_left(seed: int, n: int, d: int, values: int, k: int) -> None:
    x = table(seed, n, d, values)
    before = start(x, k, seed)
    after = settle(x, before, k)
    units = units_of(x)
    assert len({(u, c) for u, c in zip(units.tolist(), after.tolist(), strict=True)}) == int(units.max()) + 1
    assert np.bincount(after).min() >= min(k, np.bincount(before).min())
    assert sse(x, after) <= sse(x, before) * (1 + 1e-12)
    if int(units.max()) + 1 <= _NEAR and int(before.max()) > 0 and int(units.max()) >= 2:  # all classes are tried
        largest = max(int(np.bincount(before).max()), 2 * k - 1)
        least = min((sse(x, other) for other in shifts(x, after, k, largest)), default=np.inf)
        assert sse(x, after) <= least + 1e-6 * (1 + sse(x, before))


def test_a_popular_record_becomes_a_class_of_its_own() -> None:
    x = np.array([[0.0]] * 6 + [[5.0], [6.0], [7.0], [8.0]])
    assert settle(x, np.array([0] * 5 + [0] + [0] * 4), 3).tolist() == [0] * 10  # a single class has no neighbours
    after = settle(x, np.array([0] * 6 + [0, 1, 1, 1]), 3)
    assert after.tolist() == [0] * 6 + [1] * 4


def test_units_are_exchanged() -> None:
    x = np.repeat([[0.0], [1.0], [10.0], [11.0]], 2, axis=0)
    assert settle(x, np.array([0, 0, 1, 1, 0, 0, 1, 1]), 4).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_it_lowers_the_loss_of_keeping_equal_records_together(monkeypatch: pytest.MonkeyPatch) -> None:
    x = table(3, 600, 3, 7)
    labels = np.random.default_rng(1).integers(0, 120, 600)
    better = keep_equal_together(x, labels, 4)
    monkeypatch.setattr("shoal.kernels.refine.equal_records.settle", lambda x, labels, k: labels)
    assert sse(x, better) < 0.8 * sse(x, keep_equal_together(x, labels, 4))


def test_neighbours_differ() -> None:
    x = table(5, 300, 2, 5)
    near, units = _different(x, 12), units_of(x)
    assert near.shape == (300, 12)
    for i in range(300):
        assert i not in near[i]
        assert len(set(near[i].tolist())) == 12
        assert (units[near[i]] == units[i]).sum() <= _COPIES
        others = units[near[i]][units[near[i]] != units[i]]
        assert len(set(others.tolist())) == len(others)
