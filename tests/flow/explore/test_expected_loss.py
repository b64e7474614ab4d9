"""The expected il_sse is that of an integral, and the mean of what real releases lose, clipped as they leave."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.flow.classes.form import Formed, form
from shoal.flow.explore.noise import ExpectedLoss, expected_loss
from shoal.flow.protect.anonymise import plan_for
from shoal.flow.stages.read import schema_for
from shoal.types import Table

_oracle = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "expected_loss.py"))
expected_of_class, microaggregated_of_class = _oracle["expected_of_class"], _oracle["microaggregated_of_class"]
BOUNDS = {"a": [0, 12], "b": [0, 50], "c": [-10, 200]}


def people(n: int = 80, seed: int = 2) -> pa.Table:
    X = np.random.default_rng(seed).lognormal(size=(n, 3)) * [1, 5, 20]
    return pa.table(dict(zip("abc", X.T, strict=True)))


def recipe_of(**more: Any) -> shoal.Recipe:
    base = {"quasi": ["a", "b", "c"], "k": 8, "release": "laplace", "epsilon": 2.0, "bounds": BOUNDS}
    return shoal.Recipe.from_dict({**base, **more})


def formed(table: pa.Table, recipe: shoal.Recipe) -> Formed:
    whole = Table(table, schema_for(table, recipe, None))
    return form(plan_for(whole, recipe), whole)


@given(
    seed=st.integers(0, 10**6),
    epsilon=st.sampled_from([0.05, 1.0, 8.0, 500.0]),
    high=st.sampled_from([0.8, 3.0, 40.0]),
)
def test_it_is_the_integral_of_the_oracle(seed: int, epsilon: float, high: float) -> None:
    """One attribute, values beyond the bounds among them; noise from hardly any to far wider than the bounds."""
    values = np.random.default_rng(seed).lognormal(size=14)
    table = pa.table({"a": values})
    recipe = recipe_of(quasi=["a"], k=4, bounds={"a": [0.2, high]}, epsilon=epsilon)
    made = formed(table, recipe)
    found = expected_loss(made)
    (block,) = made.partition.blocks
    classes = [values[block.labels == label].tolist() for label in range(len(block))]
    sst = float(((values - values.mean()) ** 2).sum())
    scales = [(high - 0.2) / (len(members) * epsilon) for members in classes]
    total = sum(expected_of_class(m, 0.2, high, b, 4000) for m, b in zip(classes, scales, strict=True))
    lost = sum(microaggregated_of_class(members, 0.2, high) for members in classes)
    assert found.lost == pytest.approx(100 * lost / sst, rel=1e-9)
    assert found.total == pytest.approx(100 * total / sst, rel=2e-3)


KINDS = dict.fromkeys("abc", "continuous")
CASES: list[dict[str, Any]] = [
    {"method": "mdav"},
    {"method": "mdav", "attribute_weights": {"a": 4.0, "c": 0.25}, "set": {"scale": "none"}},
    {"method": "individual_ranking", "set": {"split": "even"}},
    {"method": "individual_ranking", "set": {"split": "expression1"}},
    {"method": "least_error"},
    {"method": "mdav", "blocks": [["a", "c"], ["b"]], "epsilon": {"a": 0.5, "b": 3.0, "c": 1.0}},
    {"method": "insensitive", "claim": "original", "kinds": KINDS},
    {"method": "insensitive", "claim": "original", "kinds": KINDS, "set": {"split": "expression1"}, "epsilon": 30.0},
]


@pytest.mark.parametrize("case", CASES)
def test_it_is_the_mean_of_what_releases_lose(case: dict[str, Any]) -> None:
    table, recipe = people(), recipe_of(**case)
    found = expected_loss(formed(table, recipe))
    drawn = []
    for seed in range(150):
        said = {**recipe.to_dict(), "set": {**recipe.set, "not_private_seed": seed}}
        drawn.append(shoal.protect(table, said).readings["il_sse"])
    error = np.std(drawn) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - found.total) < 4 * error
    assert error < 0.15 * found.total


@pytest.mark.parametrize("case", CASES)
def test_scales_are_those_of_the_ledger(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.flow.explore import noise as module

    seen: list[np.ndarray] = []
    inner = module._of_attribute

    def spying(attribute: Any, block: Any, domain: Any, scales: np.ndarray) -> tuple[float, float, float]:
        seen.append(scales)
        return inner(attribute, block, domain, scales)

    table, recipe = people(), recipe_of(**case)
    monkeypatch.setattr(module, "_of_attribute", spying)
    expected_loss(formed(table, recipe))
    said = {**recipe.to_dict(), "set": {**recipe.set, "not_private_seed": 1}}
    ledger = shoal.protect(table, said).ledger
    assert ledger is not None
    for scales, entry in zip(seen, ledger.entries, strict=True):
        assert scales == pytest.approx(np.broadcast_to(entry.scales, scales.shape), rel=1e-9)


def test_without_noise_to_speak_of_it_is_what_the_centroid_loses() -> None:
    table = people()
    found = expected_loss(formed(table, recipe_of(epsilon=1e9, bounds={"a": [0, 99], "b": [0, 999], "c": [0, 999]})))
    plain = shoal.protect(table, {"quasi": ["a", "b", "c"], "k": 8}).readings["il_sse"]
    assert found.lost == pytest.approx(plain)
    assert found.noise == pytest.approx(0.0, abs=1e-9)


def test_noise_without_end_leaves_at_a_bound() -> None:
    table = pa.table({"a": [0.0, 1.0, 2.0, 3.0]})
    found = expected_loss(formed(table, recipe_of(quasi=["a"], k=4, bounds={"a": [0, 3]}, epsilon=1e-9)))
    assert found.total == pytest.approx(100 * (0 + 1 + 4 + 9) / 5)


def test_where_nothing_varies_it_is_as_il_sse_has_it() -> None:
    table = pa.table({"a": [2.0] * 6})
    recipe = recipe_of(quasi=["a"], k=3, bounds={"a": [0, 3]})
    assert expected_loss(formed(table, recipe)).total == 100.0
    from_data = recipe_of(quasi=["a"], k=3, bounds="from the data, which is not private")
    assert expected_loss(formed(table, from_data)) == ExpectedLoss(0.0, 0.0)


@pytest.mark.parametrize(
    ("table", "more", "words"),
    [
        (people().set_column(0, "a", pa.array([None, *range(79)])), {}, "no missing values; a has some"),
        (people(), {"method": "mic1d"}, "the release computes the values"),
    ],
)
def test_what_the_release_refuses_is_refused(table: pa.Table, more: dict[str, Any], words: str) -> None:
    with pytest.raises(shoal.ShoalError, match=words):
        expected_loss(formed(table, recipe_of(**more)))


def test_categories_are_refused() -> None:
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "w": ["x", "y", "x", "y"]})
    more = {"quasi": ["a", "w"], "k": 2, "bounds": {"a": [0, 9]}, "taxonomies": {"w": {"all": ["x", "y"]}}}
    with pytest.raises(shoal.SchemaError, match="must be numbers; w holds categories"):
        expected_loss(formed(table, recipe_of(**more)))
