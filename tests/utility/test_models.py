"""A regression and a propensity score before and after equal their definitions."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import shoal
from shoal.types import Codes, Comparison, Pair
from shoal.utility import propensity as _membership
from shoal.utility.propensity import Propensity
from shoal.utility.regression import Regression


def oracle(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"oracle_{name}", Path(__file__).parents[1] / "oracles" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


plain, logistic = oracle("regression"), oracle("propensity")


def table(n: int = 40, seed: int = 0) -> Comparison:
    rng = np.random.default_rng(seed)
    age, work = rng.integers(20, 60, n).astype(float), rng.integers(0, 3, n)
    pay = 100 + 3 * age + 10 * work + rng.normal(0, 20, n)
    older, working, paid = age + rng.integers(-5, 6, n), np.where(rng.random(n) < 0.2, 0, work), pay.round(-1)
    return Comparison(
        np.zeros((n, 2)),
        np.zeros((n, 2)),
        ("age", "work"),
        {"age": Pair(age, older), "pay": Pair(pay.round(1), paid)},
        {"work": Codes(work, working, ("a", "b", "c"))},
    )


def rows(comparison: Comparison, side: int) -> list[list[float]]:
    age, work = comparison.numbers["age"][side], comparison.categories["work"][side]
    return [[1, x, int(w == 1), int(w == 2)] for x, w in zip(age, work, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_regression_equals_the_normal_equations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.utility.regression._BLOCK", 16)  # several triangles
    comparison = table(seed=seed)
    fits = [plain.fit(rows(comparison, side), comparison.numbers["pay"][side]) for side in (0, 1)]
    found = Regression("pay ~ age + work").measure(comparison)
    parts = dict(found.parts)
    overlaps = []
    for j, name in enumerate(("intercept", "age", "work, level 2", "work, level 3")):
        assert parts[f"{name}, before"] == pytest.approx(fits[0][0][j], rel=1e-8)
        assert parts[f"{name}, after"] == pytest.approx(fits[1][0][j], rel=1e-8)
        overlaps.append(plain.overlap(fits[0][0][j], fits[0][1][j], fits[1][0][j], fits[1][1][j]))
        assert parts[f"{name}, overlap"] == pytest.approx(overlaps[-1], rel=1e-7)
    assert found.value == pytest.approx(sum(overlaps) / 4)
    assert (parts["R², before"], parts["R², after"]) == pytest.approx((fits[0][2], fits[1][2]))


def test_columns_that_say_the_same_have_no_coefficient() -> None:
    comparison = table()
    twice = {**comparison.numbers, "months": Pair(*(12 * side for side in comparison.numbers["age"]))}
    doubled = Comparison(comparison.original, comparison.masked, comparison.owners, twice, comparison.categories)
    found = Regression("pay ~ age + months").measure(doubled)
    assert found.value == pytest.approx(Regression("pay ~ age").measure(comparison).value)
    assert not any(name.startswith("months") for name, _ in found.parts)


def test_a_level_that_is_gone_overlaps_by_nothing() -> None:
    comparison = table()
    work = comparison.categories["work"]
    less = {"work": work._replace(after=np.where(work.before == 2, 1, work.before))}
    found = Regression("pay ~ work").measure(
        Comparison(comparison.original, comparison.masked, comparison.owners, comparison.numbers, less)
    )
    assert dict(found.parts)["work, level 3, overlap"] == 0.0
    assert "work, level 3, after" not in dict(found.parts)


def test_numbers_far_from_zero_are_no_trouble() -> None:
    comparison = table()
    far = {**comparison.numbers, "age": Pair(*(side + 1e9 for side in comparison.numbers["age"]))}
    moved = Comparison(comparison.original, comparison.masked, comparison.owners, far, comparison.categories)
    near = dict(Regression("pay ~ age").measure(comparison).parts)
    assert dict(Regression("pay ~ age").measure(moved).parts)["age, after"] == pytest.approx(near["age, after"])


def test_missing_values_are_left_out_and_counted() -> None:
    comparison = table()
    comparison.numbers["age"].before[4] = math.nan
    comparison.categories["work"].after[9] = -1
    found = Regression("pay ~ age + work").measure(comparison)
    assert "2 records were omitted" in found.note
    assert 0 <= found.value <= 1


@pytest.mark.parametrize(
    "formula", ["pay", "pay ~", "~ age", "pay ~ age +", "pay ~ age + age", "pay ~ pay", "", "a ~ b ~ c"]
)
def test_a_formula_that_is_none_is_refused(formula: str) -> None:
    with pytest.raises(shoal.ParameterError, match="income ~ age"):
        Regression(formula)


def test_names_that_are_not_there_are_refused() -> None:
    with pytest.raises(shoal.ParameterError, match=r"no compared column .* 'aged'.*Did you mean 'age'"):
        Regression("pay ~ aged").measure(table())
    with pytest.raises(shoal.ParameterError, match="must be a column of numbers"):
        Regression("work ~ age").measure(table())
    many = Codes(np.arange(100), np.arange(100), tuple(map(str, range(100))))
    wide = Comparison(np.zeros((100, 1)), np.zeros((100, 1)), ("a",), {"a": Pair(*[np.arange(100.0)] * 2)}, {"m": many})
    with pytest.raises(shoal.ParameterError, match="at most 60 coefficients, got 100"):
        Regression("a ~ m").measure(wide)


def test_without_a_formula_or_with_too_few_records_there_is_nothing() -> None:
    assert math.isnan(Regression().measure(table()).value)
    found = Regression("pay ~ age + work").measure(table(4))
    assert math.isnan(found.value)
    assert "too few" in found.note


@pytest.mark.parametrize("seed", range(4))
def test_propensity_equals_plain_newton_steps(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_membership, "_BLOCK", 16)
    monkeypatch.setattr(_membership, "_FEW", 20)  # starts from one of two records
    comparison = table(seed=seed)
    sides = []
    for side in (0, 1):
        age, work = comparison.numbers["age"][side], comparison.categories["work"][side]
        z = (age - comparison.numbers["age"].before.mean()) / comparison.numbers["age"].before.std()
        sides.append([[x, x * x, float(w == 1), float(w == 2)] for x, w in zip(z, work, strict=True)])
    found = Propensity().measure(comparison)
    assert found.value == pytest.approx(logistic.pmse(*sides), rel=1e-4)
    parts = dict(found.parts)
    assert parts["expected"] == 4 / (16 * 40)
    assert parts["ratio"] == pytest.approx(found.value / parts["expected"])


def test_propensity_of_what_can_be_told_apart_is_a_quarter() -> None:
    x = np.arange(30.0)
    found = Propensity().measure(Comparison(np.zeros((30, 1)), np.zeros((30, 1)), ("a",), {"a": Pair(x, x + 1000)}))
    assert found.value == pytest.approx(0.25, abs=1e-3)


def test_propensity_sees_what_became_missing() -> None:
    x = np.random.default_rng(0).normal(size=60)
    gone = np.where(np.arange(60) < 20, math.nan, x)
    found = Propensity().measure(Comparison(np.zeros((60, 1)), np.zeros((60, 1)), ("a",), {"a": Pair(x, gone)}))
    assert found.value > 0.02
    assert np.isfinite(found.value)


def test_records_drawn_anew_from_the_original_have_a_ratio_of_one_on_average() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 400))
    ratios = []
    for _ in range(200):
        y = x[:, rng.integers(0, 400, 400)]
        numbers = {name: Pair(a, b) for name, a, b in zip("abc", x, y, strict=True)}
        found = Propensity().measure(Comparison(np.zeros((400, 3)), np.zeros((400, 3)), ("a", "b", "c"), numbers))
        ratios.append(dict(found.parts)["ratio"])
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.12)  # three standard errors: sqrt(2 / 6 / 200)


def test_a_constant_column_counts_no_terms() -> None:
    numbers = {"a": Pair(np.ones(9), np.ones(9))}
    found = Propensity().measure(Comparison(np.zeros((9, 1)), np.zeros((9, 1)), ("a",), numbers))
    assert found.value == 0.0
    assert dict(found.parts)["terms"] == 0
    assert math.isnan(Propensity().measure(Comparison(np.zeros((9, 0)), np.zeros((9, 0)), ())).value)
