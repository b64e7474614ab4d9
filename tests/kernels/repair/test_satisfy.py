"""The repair: every class holds every demand by its definition, k is kept, and each step is the cheapest there is."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.closeness.merge import merge_until_close
from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.models.class_values import roster_of
from shoal.kernels.models.demands import Demands, demands, excesses, hold
from shoal.kernels.refine.class_state import arrange, laid_out
from shoal.kernels.refine.refine import Effort
from shoal.kernels.repair import repair
from shoal.kernels.repair.refine import refine_close
from shoal.kernels.repair.repair import far_classes, merge_until_held, satisfy, spread_start
from shoal.kernels.repair.steps import KIND, LEAST, PRICE, find_step, make_step, no_step
from shoal.kernels.runtime.jit import kernel
from shoal.types import Confidential, Requirement

_spec = importlib.util.spec_from_file_location("rule_cases", Path(__file__).parents[1] / "models" / "test_rules.py")
assert _spec is not None
assert _spec.loader is not None
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)
MODELS: list[str] = cases.MODELS

SHORT = Effort(2, 10_000, 200, 2, 50, 700)


@kernel
def _find(a, r, best, b, near, k):  # type: ignore[no-untyped-def]
    return find_step(a, r, best, b, near, k)


@kernel
def _make(a, r, best, b):  # type: ignore[no-untyped-def]
    make_step(a, r, best, b)


def case(
    seed: int, models: list[str], n: int
) -> tuple[np.ndarray, list[tuple[str, Confidential, dict[str, float]]], Demands]:
    """Return points, the requirements by attribute, and the demands."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    codes = np.argsort(np.argsort(x[:, 0] + rng.normal(size=n) * rng.choice([0.1, 3.0]))) * int(rng.integers(2, 9)) // n
    asked = []
    for at, model in enumerate(models):
        kind = "numbers" if model == "k_e" else str(rng.choice(["numbers", "ordinal", "nominal", "tree"]))
        a = cases.attribute(kind, codes if at % 2 else rng.permutation(codes), rng, f"c{at}")
        asked.append((model, a, cases.levels_of(model, rng, a) if model != "t_closeness" else {"t": 0.2}))
    required = [Requirement(model, a.name, tuple(levels.items())) for model, a, levels in asked]
    return x, asked, demands([a for _, a, _ in asked], required)


def all_hold(asked: list[tuple[str, Confidential, dict[str, float]]], labels: np.ndarray) -> bool:
    classes = [labels == b for b in range(labels.max() + 1)]
    return all(cases.holds(model, a.codes[b].tolist(), a, levels) for model, a, levels in asked for b in classes)


@pytest.mark.parametrize("model", [*MODELS, "all"])
@settings(max_examples=25)
@given(st.integers(0, 100_000), st.integers(8, 60), st.sampled_from([2, 3, 5]))
def test_every_class_holds_if_the_table_does(model: str, seed: int, n: int, k: int) -> None:
    models = list(np.random.default_rng(seed).choice(MODELS, 3)) if model == "all" else [model]
    x, asked, d = case(seed, models, n)
    before = mdav(x, k)[0]
    after = satisfy(x, before, k, d)
    assert np.bincount(after).min() >= k
    if all_hold(asked, np.zeros(n, np.int64)):
        assert all_hold(asked, after)
    assert np.array_equal(after, satisfy(x, before, k, d))
    if not hold(d, after).all():
        assert not after.any()  # one class of all is left
        return
    finer = refine_close(x, after, k, d, SHORT, 0)
    assert all_hold(asked, finer)
    assert np.bincount(finer).min() >= k
    assert sse(x, finer) <= sse(x, after) * (1 + 1e-12)


def every_step(
    x: np.ndarray, labels: np.ndarray, d: Demands, b: int, k: int, room: int
) -> list[tuple[float, np.ndarray]]:
    """Return the price and the labels of every step that class b may make: tried one by one."""
    before, found = excesses(d, labels), []
    others = [int(c) for c in np.unique(labels) if c != b]
    trials = []
    for c in others:
        ours, theirs = np.flatnonzero(labels == b), np.flatnonzero(labels == c)
        trials += [(c, [(i, c), (y, b)]) for i, y in itertools.product(ours, theirs)]
        trials += [(c, [(i, c)]) for i in ours] + [(c, [(y, b)]) for y in theirs]
        trials.append((c, [(y, b) for y in theirs]))
    for c, moved in trials:
        after = labels.copy()
        for row, to in moved:
            after[row] = to
        sizes = np.bincount(after, minlength=labels.max() + 1)
        if (sizes[b] < k or sizes[b] > room) or 0 < sizes[c] < k or sizes[c] > room:
            continue
        present = np.unique(after, return_inverse=True)[1]
        excess = np.zeros(len(sizes))
        excess[np.unique(after)] = excesses(d, present)
        removed = before.sum() - excess.sum()
        finished = removed > 1e-12 and excess[b] == 0.0
        if (removed < LEAST and not finished) or (before[c] == 0.0 and excess[c] > 0.0):
            continue
        rise = sse(x, present) - sse(x, labels)
        found.append((rise / removed if rise > 0 else rise * removed, present))
    return found


@settings(max_examples=40)
@given(st.integers(0, 100_000), st.sampled_from([model for model in MODELS if model != "t_closeness"]))
def test_a_step_is_the_cheapest_of_all(seed: int, model: str) -> None:
    k, room = 3, 9
    x, _, d = case(seed, [model], 18)
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(5), (3, 3, 3, 4, 5)))
    wrong = excesses(d, labels)
    if not wrong.any():
        return
    b = int(np.argmax(wrong))
    a = arrange(laid_out(x), labels, k, room)
    r, best = roster_of(a, d), no_step()
    _find(a, r, best, b, np.arange(5), k)
    steps = every_step(x, labels, d, b, k, room)
    assert (best.whole[KIND] >= 0) == bool(steps)
    if steps:
        least = min(price for price, _ in steps)
        assert best.price[PRICE] == pytest.approx(least, rel=1e-6, abs=1e-9)
        _make(a, r, best, b)
        made = np.unique(a.label, return_inverse=True)[1]
        assert any(np.array_equal(made[:, None] == made, one[:, None] == one) for _, one in steps)
        assert r.excess[np.unique(a.label)] == pytest.approx(excesses(d, made), abs=1e-9)


def skewed(n: int, seed: int = 0, related: bool = False) -> tuple[np.ndarray, Confidential]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    u = np.argsort(np.argsort(x[:, 0] + 0.5 * rng.normal(size=n))) / n if related else rng.random(n)
    codes = np.searchsorted(np.array([0.5, 0.75, 0.9, 0.97]), u).astype(np.int64)
    return x, Confidential("c", codes, np.bincount(codes), ordered=False)


def test_steps_cost_far_less_than_mergers() -> None:
    x, a = skewed(2_000)
    d = demands([a], [Requirement("entropy_l_diversity", "c", (("l", 2),))])
    before = mdav(x, 5)[0]
    after = sse(x, satisfy(x, before, 5, d))
    assert after < 1.3 * sse(x, before)
    assert after < 0.9 * sse(x, merge_until_held(x, before, d))


def test_where_neighbours_are_alike_values_come_from_all_over() -> None:
    x, a = skewed(2_000, related=True)
    d = demands([a], [Requirement("alpha_k", "c", (("alpha", 0.55),))])
    before = mdav(x, 5)[0]
    found, start = satisfy(x, before, 5, d), spread_start(x, 5, d)
    assert start is not None
    assert hold(d, start).mean() > 0.7
    assert hold(d, found).all()
    assert sse(x, found) < 0.8 * sse(x, merge_until_held(x, before, d))


def test_a_class_that_lacks_a_value_finds_who_can_spare_one() -> None:
    x = np.arange(40.0)[:, None]
    codes = np.zeros(40, np.int64)
    codes[[30, 31, 38]] = 1
    codes[[3, 8, 13, 18, 23, 28, 36]] = 2  # in all but the first class, which lacks everything
    codes[3] = 0
    a = Confidential("c", codes, np.bincount(codes), ordered=False)
    d = demands([a], [Requirement("p_sensitivity", "c", (("p", 2),))])
    labels = np.arange(40) // 5
    b = arrange(laid_out(x), labels, 5, 16)
    r = roster_of(b, d)
    near = far_classes(b, r, np.flatnonzero(r.excess))[0]
    assert near[0] == 6  # the nearest with a record more than it needs
    assert hold(d, satisfy(x, labels, 5, d)).all()


def test_large_classes_are_merged_too() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    codes = np.repeat([0, 1, 2], [400, 150, 50])
    a = Confidential("c", codes, np.bincount(codes), ordered=False)
    d = demands([a], [Requirement("p_sensitivity", "c", (("p", 3),))])
    labels = np.concatenate((np.zeros(300, np.int64), 1 + np.arange(300) // 3))
    found = satisfy(x, labels, 3, d)
    assert hold(d, found).all()
    assert np.bincount(found).min() >= 3


def test_what_holds_comes_back_as_it_was_and_row_order_changes_only_the_order() -> None:
    x, a = skewed(300, 1)
    d = demands([a], [Requirement("distinct_l_diversity", "c", (("l", 2),))])
    before = mdav(x, 5)[0]
    found = satisfy(x, before, 5, d)
    assert np.array_equal(satisfy(x, found, 5, d), found)
    order = np.random.default_rng(1).permutation(300)
    shuffled = demands(
        [Confidential("c", a.codes[order], a.counts, ordered=False)],
        [Requirement("distinct_l_diversity", "c", (("l", 2),))],
    )
    other, direct = satisfy(x[order], before[order], 5, shuffled), found[order]
    assert np.array_equal(direct[:, None] == direct, other[:, None] == other)


def test_t_alone_is_the_merging_of_the_paper() -> None:
    x, a = skewed(200, 2)
    d = demands([a], [Requirement("t_closeness", "c", (("t", 0.3),))])
    before = mdav(x, 3)[0]
    assert np.array_equal(satisfy(x, before, 3, d), merge_until_close(x, before, d.c))


def test_a_spent_budget_ends_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "_BUDGET", 50)
    monkeypatch.setattr(repair, "_PER_RECORD", 0)
    x, a = skewed(500, 3)
    d = demands([a], [Requirement("recursive_l_diversity", "c", (("c", 2), ("l", 2)))])
    assert hold(d, satisfy(x, mdav(x, 4)[0], 4, d)).all()
