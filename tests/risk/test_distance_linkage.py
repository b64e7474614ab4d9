"""Distance linkage and linkability equal the matrix of all distances; samples are seeded, bounded and said."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.risk import _attacker as _known
from shoal.risk import _attacker as _linking
from shoal.risk import distance_linkage
from shoal.risk._attacker import sets_of
from shoal.risk.distance_linkage import DistanceLinkage
from shoal.risk.linkability import Linkability
from shoal.types import Comparison

oracle = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "linkage.py"))


def table(seed: int, n: int, owners: tuple[str, ...], grid: int, k: int) -> Comparison:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, grid, (n, len(owners))) / 10.0 if grid else rng.normal(size=(n, len(owners)))
    return Comparison(X, np.round(X * 10 / k) * k / 10, owners, seed=seed)


OWNERS = [("a",), ("a", "b"), ("a", "b", "b"), ("a", "a", "b", "c")]


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    owners=st.sampled_from(OWNERS),
    grid=st.sampled_from([0, 1, 2, 10]),
    k=st.integers(1, 9),
)
def test_equals_the_transcription(seed: int, n: int, owners: tuple[str, ...], grid: int, k: int) -> None:
    both = table(seed, n, owners, grid, k)
    original, masked = both.original.tolist(), both.masked.tolist()
    reading = DistanceLinkage().measure(both)
    expected = oracle["distance_linkage"](original, masked, list(both.places.values()))
    assert reading.value == pytest.approx(expected, rel=1e-12)
    assert reading.note == ""
    found = dict(Linkability().measure(both).parts)
    assert found["linked"] == pytest.approx(oracle["linked"](original, masked, range(len(owners))), rel=1e-12)
    near = oracle["as_near"](original, masked, range(len(owners)))
    assert found["class found"] == pytest.approx(100 * sum(t > 0 for t in near) / n, rel=1e-12)
    assert 0 <= found["advantage"] <= found["linked"] * (1 + 1e-12)
    assert found["linked"] <= found["class found"] <= 100
    assert reading.parts[-1][1] == pytest.approx(found["linked"], rel=1e-12)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_classes_of_k_bound_what_is_linked(k: int) -> None:
    X = np.random.default_rng(k).normal(size=(120, 3))
    labels = shoal.microaggregate(X, k).labels
    masked = np.stack([np.bincount(labels, x) / np.bincount(labels) for x in X.T], axis=1)[labels]
    found = dict(Linkability().measure(Comparison(X, masked, ("a", "b", "c"))).parts)
    assert found["linked"] <= found["class found"] / k + 1e-9
    assert DistanceLinkage().measure(Comparison(X, masked, ("a", "b", "c"))).value <= 100 / k


def test_the_original_itself_is_linked_completely() -> None:
    X = np.random.default_rng(1).normal(size=(50, 2))
    assert DistanceLinkage().measure(Comparison(X, X, ("a", "b"))).value == 100
    assert Linkability().measure(Comparison(X, X, ("a", "b"))).value == 100


def test_sets_are_all_or_each_alone_all_together_and_a_seeded_sample() -> None:
    names = tuple("abcdefghij")
    assert len(sets_of(names[:9], 511, 0).sets) == 511
    some = sets_of(names, 100, 4)
    assert some.all == 1023
    assert len(set(some.sets)) == len(some.sets) == 100
    assert {(name,) for name in names} | {names} <= set(some.sets)
    assert some == sets_of(names, 100, 4) != sets_of(names, 100, 5)
    assert len(sets_of(names, 1, 0).sets) == 11
    assert sets_of(("a",), 1, 0).sets == (("a",),)
    assert len(sets_of(tuple(map(str, range(200))), 511, 0).sets) == 511


def test_a_sample_of_sets_stands_for_all_others() -> None:
    both = table(3, 60, tuple("abcde"), 0, 9)
    whole = DistanceLinkage().measure(both)
    some = DistanceLinkage(subsets=30).measure(both)
    assert "30 of 31 sets" in some.note
    assert dict(some.parts)["1 attribute known"] == dict(whole.parts)["1 attribute known"]
    known = sets_of(both.attributes, 30, both.seed)
    weights = distance_linkage._weights(known, 5)
    assert weights.sum() == pytest.approx(31)
    assert weights[0] == 1
    assert some.value == pytest.approx(whole.value, rel=0.05)


def test_records_are_sampled_by_seed_and_the_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    both = table(5, 400, ("a", "b"), 0, 9)
    whole = DistanceLinkage().measure(both).value
    found = DistanceLinkage(sample=100).measure(both)
    assert found == DistanceLinkage(sample=100).measure(both)
    assert "100 of 400 records" in found.note
    error = float(found.note.rpartition("standard error ")[2].rstrip(" %."))
    assert abs(found.value - whole) < 4 * error
    monkeypatch.setattr(_linking, "_LINKS", 450)
    monkeypatch.setattr(_linking, "_FEWEST", 10)
    assert "150 of 400 records" in DistanceLinkage().measure(both).note
    monkeypatch.setattr(distance_linkage, "POINTS", 1)
    assert "4 of 7 sets" in DistanceLinkage().measure(table(5, 400, tuple("abc"), 0, 9)).note
    assert _known.POINTS > 1


def test_no_records_is_no_reading() -> None:
    nothing = Comparison(np.empty((0, 1)), np.empty((0, 1)), ("a",))
    for measure in (DistanceLinkage(), Linkability()):
        reading = measure.measure(nothing)
        assert np.isnan(reading.value)
        assert reading.note == "There are no records."


@pytest.mark.parametrize("given_", [{"subsets": 0}, {"sample": 0}, {"sample": "all"}])
def test_parameters_are_checked(given_: dict[str, object]) -> None:
    with pytest.raises(shoal.ParameterError, match="must be an integer ≥ 1"):
        DistanceLinkage(**given_)  # type: ignore[arg-type]
