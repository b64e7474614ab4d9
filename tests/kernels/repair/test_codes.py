"""Merging, repair and refinement under demands work on codes as on the exact embedding."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.closeness import merge as merging
from shoal.kernels.closeness.earth_mover import closeness
from shoal.kernels.closeness.merge import merge_until_close
from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.models.class_values import roster_of
from shoal.kernels.models.demands import demands, hold
from shoal.kernels.refine import refine as refining
from shoal.kernels.refine.class_state import arrange, laid_out, numbered
from shoal.kernels.refine.refine import Effort
from shoal.kernels.repair import atoms
from shoal.kernels.repair import unite as uniting
from shoal.kernels.repair.moves import close_join, close_rotate, close_shift, close_split, close_swap, halved
from shoal.kernels.repair.refine import refine_close
from shoal.kernels.repair.repair import merge_until_held, satisfy
from shoal.kernels.runtime.jit import kernel
from shoal.kernels.space.sparse_means import Centroids
from shoal.types import Confidential, Requirement
from shoal.types.coded import Coded

SHORT = Effort(2, 20_000, 400, 2, 50, 700)
ENDLESS = 1e300

FAST = uniting.Effort(250_000, 1, 1, 1, 60, 0)


def _oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"cods_{name}", Path(__file__).parents[2] / "oracles" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


codes, plain = _oracle("coded_tables"), _oracle("t_close_merge")


@kernel
def _move(kind, a, r, i, y, z, k, price, limit):  # type: ignore[no-untyped-def]
    home, b = a.label[i], a.label[y]
    if kind == 0:
        return close_shift(a, r, i, b, k, price, limit)
    if kind == 1:
        return close_swap(a, r, i, y, price, limit)
    if kind == 2:
        return close_rotate(a, r, i, y, z, price, limit)
    if kind == 3:
        return close_join(a, r, home, b, price, limit)
    return close_split(a, r, 0, home, i, k, price, limit)


def pay(x: Coded, seed: int) -> Confidential:
    """Return a confidential attribute that goes with the records."""
    values = x.codes[:, 1] + np.random.default_rng(seed).normal(size=len(x)) * 3.0
    own = np.unique(np.round(values), return_inverse=True)[1]
    return Confidential("pay", own, np.bincount(own), True)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([9, 300]), st.integers(0, 2))
def test_moves_say_truly_what_they_change(seed: int, wide: int, numbers: int) -> None:
    rng, x = np.random.default_rng(seed), codes.table(seed, 30, wide, numbers)
    points, asked = x.embedding(), demands([pay(x, seed)], [Requirement("t_closeness", "pay", (("t", 0.25),))])
    a = arrange(laid_out(x), rng.permutation(np.repeat(np.arange(6), 5)), 3, 12)
    r = roster_of(a, asked)
    for turn in range(25):
        i, y, z = (int(one) for one in rng.permutation(30)[:3])
        if len({int(a.label[one]) for one in (i, y, z)}) < 3:
            continue
        before = sse(points, a.label)
        change = _move(turn % 5, a, r, i, y, z, 3, 0.0, ENDLESS)
        assert sse(points, a.label) - before == pytest.approx(0.0 if change == np.inf else change, abs=1e-9)
        assert a.own.sum() == pytest.approx(sse(points, a.label), abs=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(6, 60), st.sampled_from([9, 300]), st.integers(0, 2))
def test_merging_equals_the_transcription(seed: int, n: int, wide: int, numbers: int) -> None:
    x, rng = codes.table(seed, n, wide, numbers), np.random.default_rng(seed)
    labels, hidden = numbered(rng.integers(0, n // 3, n)), [pay(x, seed)]
    found = merge_until_close(x, labels, closeness(hidden, 0.1))
    if numbers:  # distances of codes alone are often equal, and equal fractions are not equal sums of squares
        assert found.tolist() == plain.t_close_merge(x.embedding().tolist(), labels.tolist(), hidden, 0.1)


def test_merging_is_laid_out_again_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    x = codes.table(3, 900, 50)
    hidden, labels = [pay(x, 3)], mdav(x, 3)[0]
    found = merge_until_close(x, labels, closeness(hidden, 0.05))
    monkeypatch.setattr(merging, "_FEW", 10_000)
    assert np.array_equal(found, merge_until_close(x, labels, closeness(hidden, 0.05)))
    assert np.array_equal(found, merge_until_close(x.embedding(), labels, closeness(hidden, 0.05)))


@pytest.mark.parametrize("kind", ["p_sensitivity", "t_closeness"])
@pytest.mark.parametrize("blocks", [False, True])
def test_repair_and_refinement_meet_demands(kind: str, blocks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if blocks:
        monkeypatch.setattr(refining, "WHOLE", 100)
        monkeypatch.setattr(refining, "_BLOCK", 150)
    x = codes.table(7, 500, 60)
    rules = [Requirement("t_closeness", "pay", (("t", 0.2),)), Requirement("p_sensitivity", "pay", (("p", 4),))]
    asked = demands([pay(x, 7)], rules[: 1 if kind == "t_closeness" else 2])
    broken = mdav(x, 4)[0]
    assert not hold(asked, broken).all()
    for found in (satisfy(x, broken, 4, asked), merge_until_held(x, numbered(broken), asked)):
        assert hold(asked, found).all()
        assert np.bincount(found).min() >= 4
    before = satisfy(x, broken, 4, asked)
    after, other = (refine_close(one, before, 4, asked, SHORT, 1) for one in (x, x.embedding()))
    assert hold(asked, after).all()
    assert sse(x, after) < 0.95 * sse(x, before)
    assert sse(x, after) < 1.1 * sse(x, other)


def test_means_are_those_of_the_embedding() -> None:
    x = codes.table(2, 200, 40, 2)
    labels = numbered(np.random.default_rng(0).integers(0, 40, 200))
    ours, theirs = Centroids(x, labels), Centroids(x.embedding(), labels)
    others = np.arange(1, len(ours.sizes))
    assert ours.apart(0, others) == pytest.approx(theirs.apart(0, others), abs=1e-12)
    assert ours.near(5).shape == theirs.near(5).shape
    embedded = x.embedding()
    for label, row in enumerate(ours.typical_rows()):
        off = ((embedded[labels == label] - theirs.means[label]) ** 2).sum(axis=1)
        assert ((embedded[row] - theirs.means[label]) ** 2).sum() == pytest.approx(off.min())


def test_classes_of_codes_are_halved() -> None:
    x = codes.table(4, 100, 40)
    asked = demands([pay(x, 4)], [Requirement("t_closeness", "pay", (("t", 0.2),))])
    assert np.bincount(halved(x, np.zeros(100, np.int64), asked, 30)).max() <= 30


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([9, 300]), st.integers(0, 2))
def test_moves_of_atoms_keep_the_books(seed: int, wide: int, numbers: int) -> None:
    rng, x = np.random.default_rng(seed), codes.table(seed, 60, wide, numbers)
    points, asked = x.embedding(), demands([pay(x, seed)], [Requirement("t_closeness", "pay", (("t", 0.25),))])
    labels = numbered(rng.permutation(np.repeat(np.arange(15), 4)))
    a = atoms.atoms_of(x, labels, asked)
    u = atoms._unions(a, rng.integers(0, 5, 15), asked, 60, 1.0)
    random, moved = np.array([seed], np.uint64), set()
    for turn in range(40):
        before, old = sse(points, u.label[labels]), u.label.tolist()
        atoms._anneal(a, u, 3, 3.0 * (turn % 2), 0.0, float(a.heat.mean()), random)
        after = sse(points, u.label[labels])
        moved.add(old != u.label.tolist())
        assert turn % 2 or after <= before + 1e-9  # at temperature 0, the SSE does not rise
        assert (points**2).sum() - u.value[u.atoms > 0].sum() == pytest.approx(after, abs=1e-9)
    assert True in moved


@pytest.mark.parametrize("whole", [6_000, 50])
def test_atoms_are_united_as_in_the_embedding(whole: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uniting, "_WHOLE", whole)
    monkeypatch.setattr(uniting, "_BLOCK", 60)
    x = codes.table(8, 600, 60)
    asked = demands([pay(x, 8)], [Requirement("t_closeness", "pay", (("t", 0.2),))])
    parts = mdav(x, 4)[0]
    ours, theirs = (uniting.alternatives(one, parts, asked, FAST, 1, 1)[0] for one in (x, x.embedding()))
    assert hold(asked, ours).all()
    assert len(np.unique(numbered(parts) * 600 + ours)) == len(np.unique(parts))  # atoms stay whole
    assert sse(x, ours) < 1.05 * sse(x, theirs)
    inside = np.argsort(parts, kind="stable")
    swapped = inside.copy()  # members of an atom exchange rows
    for one in np.unique(parts):
        swapped[parts[inside] == one] = swapped[parts[inside] == one][::-1]
    other = np.empty(600, np.int64)
    other[inside] = swapped
    hidden = demands([pay(x, 8)], [Requirement("t_closeness", "pay", (("t", 0.2),))])
    again = uniting.alternatives(x[other], parts, hidden, FAST, 1, 1)[0]
    assert np.array_equal(again, ours)
