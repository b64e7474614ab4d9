"""Moves that keep classes close: each says truly what it changes, and leaves everything in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.closeness.earth_mover import Closeness, distances
from shoal.kernels.models.class_values import Roster, nearest_value, roster_of
from shoal.kernels.models.demands import Demands, demands
from shoal.kernels.refine.class_state import Arrangement, arrange, laid_out
from shoal.kernels.repair.moves import close_join, close_rotate, close_shift, close_split, close_swap
from shoal.kernels.runtime.jit import kernel
from shoal.types import Confidential, Requirement

N, K, PRICE = 24, 3, 7.0


@kernel
def _shift(a, r, i, b, k, price, limit):  # type: ignore[no-untyped-def]
    return close_shift(a, r, i, b, k, price, limit)


@kernel
def _swap(a, r, i, y, price, limit):  # type: ignore[no-untyped-def]
    return close_swap(a, r, i, y, price, limit)


@kernel
def _rotate(a, r, i, y, z, price, limit):  # type: ignore[no-untyped-def]
    return close_rotate(a, r, i, y, z, price, limit)


@kernel
def _join(a, r, c, b, price, limit):  # type: ignore[no-untyped-def]
    return close_join(a, r, c, b, price, limit)


@kernel
def _split(a, r, at, c, i, k, price, limit):  # type: ignore[no-untyped-def]
    return close_split(a, r, at, c, i, k, price, limit)


@kernel
def _likest(a, r, at, b, x):  # type: ignore[no-untyped-def]
    return nearest_value(a, r, at, b, x)


def table(seed: int) -> tuple[np.ndarray, Demands, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, 3))
    ranks, groups = rng.integers(0, 9, N), rng.integers(0, 3, N)
    attributes = []
    for name, values, ordered in (("ranks", ranks, True), ("groups", groups, False)):
        codes = np.unique(values, return_inverse=True)[1]
        attributes.append(Confidential(name, codes, np.bincount(codes), ordered))
    sizes = (3, 4, 6, 5, 6)
    asked = demands(attributes, [Requirement("t_closeness", a.name, (("t", 0.25),)) for a in attributes])
    return x, asked, rng.permutation(np.repeat(np.arange(5), sizes))


def excess(c: Closeness, labels: np.ndarray) -> float:
    """Return the size of each class times what it misses t by, added up: from the distances, not from the work.

    t is so that the most work of a class is a whole number, which is otherwise rounded down.
    """
    far = distances(c, np.unique(labels, return_inverse=True)[1])[0]
    sizes = np.unique(labels, return_counts=True)[1]
    return float((np.maximum(far - c.t, 0.0) * sizes).sum())


def energy(x: np.ndarray, c: Closeness, labels: np.ndarray) -> float:
    return sse(x, labels.astype(np.int64)) + PRICE * excess(c, labels)


def in_order(a: Arrangement, r: Roster, x: np.ndarray, c: Closeness) -> None:
    """Check that all state that is updated equals a fresh computation."""
    for b in range(len(a.size)):
        members = np.flatnonzero(a.label == b)
        assert sorted(a.member[b, : a.size[b]].tolist()) == members.tolist()
        if not len(members):
            assert b in a.free[: a.spare[0]]
            continue
        assert a.mean[b, :3] == pytest.approx(x[members].mean(axis=0))
        for at in range(2):
            assert sorted(r.record[at, b, : a.size[b]].tolist()) == members.tolist()
            assert r.code[at, b, : a.size[b]].tolist() == sorted(c.codes[at, members].tolist())
            assert r.code[at, b, : a.size[b]].tolist() == c.codes[at, r.record[at, b, : a.size[b]]].tolist()
        alone = np.where(a.label == b, 0, 1)
        inside = distances(c, alone)[0][:, 0]
        assert r.excess[b] == pytest.approx((np.maximum(inside - c.t, 0.0) * len(members)).sum(), abs=1e-12)
    assert len(set(a.free[: a.spare[0]].tolist())) == a.spare[0]


def attempts(kind: int, a: Arrangement, r: Roster, rng: np.random.Generator, limit: float) -> float:
    i, y, z = (int(one) for one in rng.choice(N, 3, replace=False))
    b = int(rng.choice(np.flatnonzero(a.size)))
    home = int(a.label[i])
    if kind == 0 and b != home:
        return float(_shift(a, r, i, b, K, PRICE, limit))
    if kind == 1 and a.label[y] != home:
        return float(_swap(a, r, i, y, PRICE, limit))
    if kind == 2 and len({home, int(a.label[y]), int(a.label[z])}) == 3:
        return float(_rotate(a, r, i, y, z, PRICE, limit))
    if kind == 3 and b != home:
        return float(_join(a, r, home, b, PRICE, limit))
    if kind == 4:
        return float(_split(a, r, int(rng.integers(2)), home, i, K, PRICE, limit))
    return np.inf


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_every_move_says_truly_what_it_changes(seed: int) -> None:
    x, d, labels = table(seed)
    c = d.c
    rng = np.random.default_rng(seed + 1)
    a = arrange(laid_out(x), labels, K, 12)
    r = roster_of(a, d)
    made = 0
    for step in range(25):
        before, old = energy(x, c, a.label), a.label.copy()
        limit = float(rng.choice([np.inf, 3.0, 0.0, -0.5]))
        change = attempts(step % 5, a, r, rng, limit)
        if change == np.inf:
            assert np.array_equal(a.label, old)
        else:
            made += 1
            assert change <= limit
            assert energy(x, c, a.label) - before == pytest.approx(change, abs=1e-9)
        assert a.size[a.size > 0].min() >= K
        assert a.size.max() <= a.member.shape[1]
    in_order(a, r, x, c)
    assert made


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_the_likest_is_the_nearest_in_value(seed: int) -> None:
    x, d, labels = table(seed)
    c = d.c
    a = arrange(laid_out(x), labels, K, 12)
    r = roster_of(a, d)
    for i in range(N):
        for b in set(range(5)) - {int(labels[i])}:
            found = _likest(a, r, 0, b, i)
            gaps = abs(c.codes[0, np.flatnonzero(labels == b)] - c.codes[0, i])
            assert labels[found] == b
            assert abs(c.codes[0, found] - c.codes[0, i]) == gaps.min()
