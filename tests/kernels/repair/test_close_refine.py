"""Refinement under closeness: k and t are kept, the SSE falls, the same seed gives the same classes."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.arithmetic.class_statistics import sse
from shoal.kernels.closeness.earth_mover import distances
from shoal.kernels.closeness.merge import merge_until_close
from shoal.kernels.mdav.mdav import mdav
from shoal.kernels.models.demands import Demands, demands, hold, least_size
from shoal.kernels.refine import refine as refining
from shoal.kernels.refine.refine import CLOSE_EFFORTS, Effort
from shoal.kernels.repair.moves import halved
from shoal.kernels.repair.refine import refine_close
from shoal.progress import Enough, listening
from shoal.types import Confidential, Requirement

_spec = importlib.util.spec_from_file_location("oracle_emd", Path(__file__).parents[2] / "oracles" / "earth_mover.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

SHORT = Effort(2, 20_000, 400, 2, 50, 700)


def attribute(values: np.ndarray, ordered: bool = True, name: str = "c") -> Confidential:
    codes = np.unique(values, return_inverse=True)[1]
    return Confidential(name, codes, np.bincount(codes), ordered)


def closeness(attributes: list[Confidential], t: float) -> Demands:
    return demands(attributes, [Requirement("t_closeness", a.name, (("t", t),)) for a in attributes])


def start(x: np.ndarray, k: int, d: Demands) -> np.ndarray:
    return merge_until_close(x, mdav(x, k)[0], d.c)


def correlated(n: int, seed: int, ties: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    values = x[:, 0] + 0.5 * rng.normal(size=n)
    return x, np.round(values * ties) if ties else values


def exactly_close(values: np.ndarray, labels: np.ndarray, t: float) -> bool:
    table = values.tolist()
    classes = [values[labels == b].tolist() for b in range(labels.max() + 1)]
    return all(oracle.ordered(inside, table) <= Fraction(str(t)) for inside in classes)


@settings(max_examples=15)
@given(st.integers(12, 90), st.sampled_from([2, 3, 5]), st.sampled_from([0.0, 0.1, 0.2, 0.35, 1.0]), st.integers(0, 99))
def test_k_and_t_are_kept_and_the_loss_does_not_rise(n: int, k: int, t: float, seed: int) -> None:
    x, values = correlated(n, seed, ties=3 if seed % 2 else 0)
    c = closeness([attribute(values)], t)
    before = start(x, k, c)
    after = refine_close(x, before, k, c, SHORT, seed)
    assert np.bincount(after).min() >= k
    assert exactly_close(values, after, t)
    assert sse(x, after) <= sse(x, before) * (1 + 1e-12)
    assert np.array_equal(after, refine_close(x, before, k, c, SHORT, seed))


def test_it_lowers_the_loss_by_much() -> None:
    x, values = correlated(300, 1)
    c = closeness([attribute(values)], 0.15)
    before = start(x, 3, c)
    fast, more = (sse(x, refine_close(x, before, 3, c, CLOSE_EFFORTS[effort], 0)) for effort in ("fast", "default"))
    assert more < fast < 0.7 * sse(x, before)


def test_several_attributes_and_kinds() -> None:
    x, values = correlated(200, 2)
    rng = np.random.default_rng(0)
    groups = attribute(rng.integers(0, 3, 200), ordered=False, name="groups")
    attributes = [attribute(values), groups, attribute(x[:, 1], name="second")]
    c = closeness(attributes, 0.2)
    before = start(x, 4, c)
    after = refine_close(x, before, 4, c, SHORT, 0)
    assert hold(c, after).all()
    assert np.bincount(after).min() >= 4
    assert sse(x, after) < 0.9 * sse(x, before)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_in_blocks(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(refining, "WHOLE", 100)
    monkeypatch.setattr(refining, "_BLOCK", 120)
    monkeypatch.setenv("SHOAL_THREADS", str(threads))
    x, values = correlated(600, 3)
    c = closeness([attribute(values)], 0.2)
    before = start(x, 3, c)
    after = refine_close(x, before, 3, c, SHORT, 5)
    assert exactly_close(values, after, 0.2)
    assert np.bincount(after).min() >= 3
    assert sse(x, after) < 0.9 * sse(x, before)
    assert np.array_equal(after, refine_close(x, before, 3, c, SHORT, 5))


def test_what_is_not_close_comes_back_as_it_was() -> None:
    x, values = correlated(100, 4)
    c = closeness([attribute(values)], 0.05)
    before = mdav(x, 3)[0]
    assert not hold(c, before).all()
    assert np.array_equal(
        refine_close(x, before, 3, c, SHORT, 0)[:, None] == refine_close(x, before, 3, c, SHORT, 0),
        before[:, None] == before,
    )


def test_row_order_changes_only_the_order() -> None:
    x, values = correlated(150, 5)
    order = np.random.default_rng(1).permutation(150)
    c, shuffled = (closeness([attribute(v)], 0.2) for v in (values, values[order]))
    before = start(x, 3, c)
    direct = refine_close(x, before, 3, c, SHORT, 2)[order]
    other = refine_close(x[order], before[order], 3, shuffled, SHORT, 2)
    assert np.array_equal(direct[:, None] == direct, other[:, None] == other)


def test_halves_have_the_values_of_the_whole() -> None:
    x, values = correlated(501, 6)
    c = closeness([attribute(values)], 0.1)
    labels = np.repeat([0, 1], [401, 100])
    found = halved(x, labels, c, 60)
    sizes = np.bincount(found)
    assert sizes.max() <= 60
    assert sizes.min() >= 25
    whole = distances(c.c, labels)[0][0]
    for b, far in enumerate(distances(c.c, found)[0][0]):
        assert abs(far - whole[labels[found == b][0]]) < 0.03
    assert np.array_equal(halved(x, labels, c, 401), labels)


def test_the_size_from_which_spread_classes_are_close() -> None:
    c = closeness([attribute(np.arange(1080.0))], 0.05)
    assert least_size(c, 2) == 10  # [SC15] Table 3
    assert least_size(c, 15) == 15
    assert least_size(closeness([attribute(np.arange(50.0))], 0.0), 2) == 50


def test_one_class_is_split_where_that_is_possible() -> None:
    x = np.array([[0.0], [0.1], [9.0], [9.1]])
    c = closeness([attribute(np.array([1, 2, 1, 2]))], 0.0)
    assert refine_close(x, np.zeros(4, np.int64), 2, c, SHORT, 0).tolist() == [0, 0, 1, 1]
    for n in range(4, 12):  # also where it does not halve evenly
        x, values = correlated(n, n)
        loose = closeness([attribute(values)], 1.0)
        assert np.bincount(refine_close(x, np.zeros(n, np.int64), 2, loose, SHORT, 0)).min() >= 2


class Impatient:
    """Listens until the annealing reports."""

    heard = 0

    def stage(self, name: str) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def report(self, done: int, total: int) -> None:
        self.heard += 1
        if self.heard > 2:
            raise Enough


def test_a_listener_with_enough_gets_what_there_is() -> None:
    x, values = correlated(300, 7)
    c = closeness([attribute(values)], 0.2)
    before = start(x, 3, c)
    with listening(Impatient()):
        after = refine_close(x, before, 3, c, Effort(50, 50_000_000, 10**6, 2, 50, 0), 0)
    assert exactly_close(values, after, 0.2)
    assert sse(x, after) <= sse(x, before)
