"""Blocks: cut as transcribed, each partitioned by MDAV and exchanges, and refined so that the loss never rises."""

from __future__ import annotations

import importlib.util
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.refine.blockwise import Memory, cuts_for
from shoal.kernels.refine.class_state import arranged
from shoal.kernels.refine.cuts import block_of
from shoal.kernels.refine.exchange import Search, exchanged
from shoal.kernels.refine.reblock import _directions, cut_blocks, whole_classes
from shoal.partition.blocks import Blocks
from shoal.progress import listening
from shoal.types import Points

_spec = importlib.util.spec_from_file_location("oracle_blocks", Path(__file__).parents[1] / "oracles" / "blocks.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)


def table(seed: int, n: int, d: int, grid: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.integers(0, grid, (n, d)) / 10.0 if grid else rng.normal(size=(n, d))


def loss(X: np.ndarray, labels: np.ndarray) -> float:
    return sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in range(labels.max() + 1))


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 80),
    d=st.integers(1, 4),
    count=st.integers(1, 20),
    grid=st.sampled_from([0, 1, 2, 10]),
)
def test_blocks_equal_the_transcription(seed: int, n: int, d: int, count: int, grid: int) -> None:
    X, count = table(seed, n, d, grid), min(count, n)
    order, bounds = cut_blocks(X, count)
    found = [sorted(order[a:b].tolist()) for a, b in itertools.pairwise(bounds)]
    assert found == [sorted(rows) for rows in oracle.cut_blocks(X.tolist(), list(range(n)), count)]
    assert min(len(rows) for rows in found) >= n // count


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 200),
    d=st.integers(1, 4),
    k=st.integers(2, 6),
    size=st.integers(1, 60),
    rounds=st.integers(0, 3),
    grid=st.sampled_from([0, 1, 3]),
)
def test_classes_hold_k_to_2k_minus_1_and_mending_never_loses(
    seed: int, n: int, d: int, k: int, size: int, rounds: int, grid: int
) -> None:
    X, k = table(seed, n, d, grid), min(k, n)
    part = shoal.microaggregate(X, k, method="blocks", size=size, rounds=rounds)
    assert part.sizes.min() >= k
    assert part.sizes.max() <= 2 * k - 1
    alone = shoal.microaggregate(X, k, method="blocks", size=size, rounds=0)
    assert loss(X, part.labels) <= loss(X, alone.labels) * (1 + 1e-9) + 1e-12


def test_without_mending_each_block_is_mdav_followed_by_exchanges() -> None:
    X = table(1, 300, 3, 0)
    labels = shoal.microaggregate(X, 4, method="blocks", size=70, rounds=0).labels
    home = block_of(cuts_for(Memory(X), 300 // 70, 8), X)
    assert len(set(home)) == 4
    for block in range(4):
        rows = arranged(X, np.flatnonzero(home == block))
        alone = exchanged(X[rows], shoal.microaggregate(X[rows], 4).labels, Search(16, 10))
        assert np.array_equal(labels[rows][:, None] == labels[rows], alone[:, None] == alone)


@pytest.mark.parametrize(("effort", "rounds"), [("fast", 0), ("default", 1), ("best", 4)])
def test_effort_is_a_number_of_rounds(effort: str, rounds: int) -> None:
    X = table(8, 900, 3, 0)
    by_effort = shoal.microaggregate(X, 3, method="blocks", size=150, effort=effort).labels
    by_hand = shoal.microaggregate(X, 3, method="blocks", size=150, effort=effort, rounds=rounds).labels
    assert np.array_equal(by_effort, by_hand)


def test_more_effort_loses_less() -> None:
    X = table(9, 4000, 4, 0)
    found = [
        loss(X, shoal.microaggregate(X, 5, method="blocks", size=500, effort=effort).labels)
        for effort in ("fast", "default", "best")
    ]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("effort", ["fast", "default"])
def test_equal_records_share_a_class_where_that_is_wanted(effort: str) -> None:
    X = np.random.default_rng(10).integers(0, 9, (2000, 3)).astype(np.float64)
    method = replace(Blocks(k=4, size=200, effort=effort), whole=True)  # type: ignore[arg-type]
    labels = method.partition(Points(X), np.random.default_rng(0)).labels
    _, vector = np.unique(X, axis=0, return_inverse=True)
    assert np.bincount(labels).min() >= 4
    assert len(set(zip(vector.reshape(-1), labels, strict=True))) == len(set(vector.reshape(-1)))


def test_one_block_is_mdav() -> None:
    X = table(2, 150, 3, 0)
    a, b = shoal.microaggregate(X, 4, method="blocks").labels, shoal.microaggregate(X, 4).labels
    assert np.array_equal(a[:, None] == a, b[:, None] == b)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_rows_and_cores_change_nothing(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = table(3, 2000, d, 0)
    both = shoal.microaggregate(X, 3, method="blocks", size=150).labels
    order = np.random.default_rng(4).permutation(2000)
    shuffled = shoal.microaggregate(X[order], 3, method="blocks", size=150).labels
    assert np.array_equal(both[order][:, None] == both[order], shuffled[:, None] == shuffled)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0}, raising=False)
    assert np.array_equal(shoal.microaggregate(X, 3, method="blocks", size=150).labels, both)


def test_mended_blocks_lose_no_more_than_mdav_over_all() -> None:
    X = np.random.default_rng(5).normal(size=(6000, 3))
    repaired = shoal.microaggregate(X, 5, method="blocks", size=500).labels
    alone = shoal.microaggregate(X, 5, method="blocks", size=500, rounds=0).labels
    everything = loss(X, shoal.microaggregate(X, 5).labels)
    assert loss(X, repaired) < everything < loss(X, alone)


def test_new_blocks_are_made_of_whole_classes_and_cut_elsewhere() -> None:
    X = table(6, 900, 2, 0)
    labels = shoal.microaggregate(X, 3, method="blocks", size=100, rounds=0).labels
    order, bounds = whole_classes(X, labels.astype(np.int32), labels.max() + 1, 10, 1)
    assert np.array_equal(np.sort(order), np.arange(900))
    home = np.empty(900, dtype=int)
    for b in range(10):
        home[order[bounds[b] : bounds[b + 1]]] = b
    assert all(len(set(home[labels == c])) == 1 for c in range(labels.max() + 1))
    first, ends = cut_blocks(X, 9)
    assert all(len(set(home[first[a:b]])) > 1 for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize("d", [1, 2, 7])
def test_directions_are_at_right_angles_and_change_with_the_turn(d: int) -> None:
    Q = _directions(d, 1)
    assert np.allclose(Q.T @ Q, np.eye(d))
    assert np.array_equal(Q, _directions(d, 1))
    assert d == 1 or not np.allclose(np.abs(Q), np.abs(_directions(d, 2)))


def test_work_is_reported() -> None:
    seen: list[tuple[int, int]] = []

    class Listener:
        def stage(self, name: str) -> None: ...
        def say(self, text: str) -> None: ...
        def report(self, done: int, total: int) -> None:
            seen.append((done, total))

    with listening(Listener()):
        shoal.microaggregate(table(7, 1000, 2, 0), 3, method="blocks", size=100, rounds=2)
    assert seen == [(done, 33) for done in range(1, 34)]


@pytest.mark.parametrize("more", [{"size": 0}, {"size": 2.5}, {"rounds": -1}, {"rounds": 101}])
def test_parameters_out_of_range_are_refused(more: dict) -> None:
    with pytest.raises(shoal.ParameterError, match=r"must be an integer ≥ [01]"):
        shoal.microaggregate(np.arange(9.0), 3, method="blocks", **more)
