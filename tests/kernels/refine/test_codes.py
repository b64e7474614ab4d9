"""Moves and refinement of records with codes agree with the exact embedding."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.refine import refine as refining
from shoal.kernels.refine.annealing import create, dissolve, ground, rotate, shift_or_swap
from shoal.kernels.refine.blockwise import Memory, partition_in_blocks
from shoal.kernels.refine.class_state import arrange, between, laid_out, total_sse
from shoal.kernels.refine.reblock import cut_blocks, swept
from shoal.kernels.refine.refine import Effort, effort_for, quick_start, refine
from shoal.partition.blocks import Blocks

_spec = importlib.util.spec_from_file_location("codes", Path(__file__).parents[2] / "oracles" / "coded_tables.py")
assert _spec is not None
assert _spec.loader is not None
codes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(codes)

_compiled: Any = numba.njit(error_model="numpy", _nrt=False, no_cfunc_wrapper=True)
SHORT = Effort(2, 20_000, 200, 2, 20, 200, generations=2, quench=10, priced=50)
KINDS = range(4)


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
def _between(a, b, c):
    return between(a, b, c)


def start(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Return a random partition into classes of at least k, some larger than 2k−1."""
    classes = max(n // (2 * k), 1)
    sizes = k + rng.multinomial(n - classes * k, np.full(classes, 1 / classes))
    return rng.permutation(np.repeat(np.arange(classes), sizes))


CASES = {
    "seed": st.integers(0, 10**6),
    "n": st.integers(12, 60),
    "k": st.integers(2, 4),
    "wide": st.sampled_from([3, 9, 40, 500]),
    "numbers": st.integers(0, 2),
    "grid": st.booleans(),
}


@settings(max_examples=60)
@given(**CASES)
def test_moves_change_the_sse_by_what_they_say(seed: int, n: int, k: int, wide: int, numbers: int, grid: bool) -> None:
    rng, x = np.random.default_rng(seed), codes.table(seed, n, wide, numbers, grid)
    points, a = x.embedding(), arrange(laid_out(x), start(np.random.default_rng(seed), n, k), k)
    near = ground(x, k).near
    for turn in range(16):
        used = rng.permutation(np.flatnonzero(a.size))
        if len(used) < 3:
            break
        i, y = (int(rng.choice(a.member[q, : a.size[q]])) for q in used[:2])
        before = sse(points, a.label)
        limit = 1e300 if turn % 2 else -1e-3 * before
        change = _make(rng.choice(KINDS), a, near, i, y, int(used[2]), k, limit)
        assert sse(points, a.label) - before == pytest.approx(0.0 if change == np.inf else change, abs=1e-9)
        assert total_sse(a) == pytest.approx(sse(points, a.label), abs=1e-9)
        for c in np.flatnonzero(a.size):
            inside = points[a.label == c]
            assert a.own[a.label == c] == pytest.approx(((inside - inside.mean(axis=0)) ** 2).sum(axis=1), abs=1e-9)
        b, c = np.flatnonzero(a.size)[[0, -1]]
        apart = points[a.label == b].mean(axis=0) - points[a.label == c].mean(axis=0)
        assert _between(a, b, c) == pytest.approx((apart**2).sum(), abs=1e-9)


@settings(max_examples=30)
@given(**CASES)
def test_the_sse_is_that_of_the_embedding(seed: int, n: int, k: int, wide: int, numbers: int, grid: bool) -> None:
    x, labels = codes.table(seed, n, wide, numbers, grid), start(np.random.default_rng(seed), n, k)
    assert sse(x, labels) == pytest.approx(sse(x.embedding(), labels), rel=1e-9, abs=1e-12)


@settings(max_examples=20)
@given(**CASES)
def test_refinement_is_never_worse(seed: int, n: int, k: int, wide: int, numbers: int, grid: bool) -> None:
    x, labels = codes.table(seed, n, wide, numbers, grid), start(np.random.default_rng(seed), n, k)
    for after in (refine(x, labels, k, SHORT, seed), swept(x, labels, k)):
        assert np.bincount(after).min() >= k
        assert sse(x, after) <= sse(x, labels) * (1 + 1e-9)
    order = np.lexsort(x.sort_keys())
    if not (np.diff(np.column_stack(x.sort_keys())[order], axis=0) == 0).all(axis=1).any():  # distinct
        again = refine(x[order], labels[order], k, SHORT, seed)
        assert sse(x[order], again) == pytest.approx(sse(x, refine(x, labels, k, SHORT, seed)), rel=1e-12)


@pytest.mark.parametrize(("wide", "numbers", "k"), [(9, 1, 3), (64, 2, 5), (300, 0, 4)])
def test_refinement_reaches_the_loss_of_the_embedding(wide: int, numbers: int, k: int) -> None:
    x = codes.table(wide, 600, wide, numbers)
    labels = quick_start(x, k)
    ours, theirs = (refine(one, labels, k, effort_for("fast", one, k), 1) for one in (x, x.embedding()))
    assert sse(x, ours) <= 1.01 * sse(x, theirs)
    assert sse(x, ours) < sse(x, labels)


def test_large_tables_are_refined_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refining, "WHOLE", 100)
    monkeypatch.setattr(refining, "_BLOCK", 150)
    x = codes.table(5, 1500, 60)
    labels = quick_start(x, 4)
    after = refine(x, labels, 4, SHORT, 1)
    assert np.bincount(after).min() >= 4
    assert sse(x, after) < 0.97 * sse(x, labels)
    order = np.random.default_rng(0).permutation(len(x))
    assert sse(x, refine(x[order], labels[order], 4, SHORT, 1)[np.argsort(order)]) == pytest.approx(
        sse(x, after), rel=0.02
    )


def test_blocks_of_codes_hold_their_share_and_do_not_depend_on_rows() -> None:
    x = codes.table(6, 1000, 60)
    order, bounds = cut_blocks(x, 7)
    assert np.array_equal(np.sort(order), np.arange(1000))
    assert np.diff(bounds).min() >= 1000 // 7
    shuffled = np.random.default_rng(1).permutation(1000)
    other, _ = cut_blocks(x[shuffled], 7)
    for begin, end in itertools.pairwise(bounds):
        assert set(shuffled[other[begin:end]]) == set(order[begin:end])


def test_blocks_of_codes_are_refined_and_do_not_depend_on_rows() -> None:
    x = codes.table(6, 1000, 60)
    stores = {rounds: Memory(x) for rounds in (0, 2)}
    for rounds, store in stores.items():
        partition_in_blocks(store, Blocks(k=5, size=200, rounds=rounds).blockwise(1000, 1))
    plain, refined = (store.labels.astype(np.int64) for store in stores.values())
    assert np.bincount(refined).min() >= 5
    assert np.bincount(refined).max() <= 9
    assert sse(x, refined) < sse(x, plain)
    shuffled = np.random.default_rng(2).permutation(1000)
    other = Memory(x[shuffled])
    partition_in_blocks(other, Blocks(k=5, size=200, rounds=2).blockwise(1000, 1))
    vector = np.unique(np.column_stack(x.sort_keys()), axis=0, return_inverse=True)[1].reshape(-1)
    once = np.bincount(vector)[vector[shuffled]] == 1  # copies differ in their rows only
    pairs = set(zip(refined[shuffled][once], other.labels[once], strict=True))
    assert len(pairs) == len(set(other.labels[once]))
