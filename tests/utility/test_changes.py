"""Changes of means, variances, correlations and quantiles equal their definitions, in tables and strata."""

from __future__ import annotations

import importlib.util
import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.types import Comparison, Pair
from shoal.utility.correlations import Correlations
from shoal.utility.means import Means
from shoal.utility.quantiles import PERCENTS, Quantiles
from shoal.utility.variances import Variances

_spec = importlib.util.spec_from_file_location("oracle_changes", Path(__file__).parents[1] / "oracles" / "changes.py")
assert _spec is not None
assert _spec.loader is not None
plain = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(plain)

VALUE = st.one_of(st.integers(-9, 9).map(float), st.just(math.nan))
TABLES = st.integers(3, 14).flatmap(
    lambda n: st.tuples(
        st.lists(st.tuples(*[st.lists(VALUE, min_size=n, max_size=n)] * 2), min_size=2, max_size=3),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
    )
)


def comparison(columns: list[tuple[list[float], list[float]]], strata: list[int] | None = None) -> Comparison:
    names = tuple("abcdefgh"[: len(columns)])
    n = len(columns[0][0])
    numbers = {name: Pair(np.array(x), np.array(y)) for name, (x, y) in zip(names, columns, strict=True)}
    given = None if strata is None else np.array(strata)
    return Comparison(np.zeros((n, len(names))), np.zeros((n, len(names))), names, numbers, strata=given)


def groups(columns, strata):  # type: ignore[no-untyped-def]
    """For each column what is there before and after: in the table, and in each stratum by number."""
    for name, (before, after) in zip("abcdefgh", columns, strict=False):
        x, y = plain.there(before, after)
        if x:
            yield name, x, y, plain.spread(x)
            for s in sorted(set(strata)):
                rows = [i for i, found in enumerate(strata) if found == s]
                inside = plain.there([before[i] for i in rows], [after[i] for i in rows])
                if inside[0]:
                    yield f"{name} in stratum {s}", *inside, plain.spread(x)


def looked_at(found, want):  # type: ignore[no-untyped-def]
    if not want:
        assert math.isnan(found.value)
        return
    table = [abs(value) for name, value in want.items() if "stratum" not in name]
    assert found.value == pytest.approx(max(table), abs=1e-9)
    parts = dict(found.parts)
    most = parts.pop("largest in a stratum")
    assert most == pytest.approx(max(abs(value) for name, value in want.items() if "stratum" in name), abs=1e-9)
    assert parts == {name: pytest.approx(value, abs=1e-9) for name, value in want.items()}


@given(TABLES)
def test_means(table) -> None:  # type: ignore[no-untyped-def]
    want = {name: (plain.mean(y) - plain.mean(x)) / spread for name, x, y, spread in groups(*table)}
    looked_at(Means().measure(comparison(*table)), want)


@given(TABLES)
def test_variances(table) -> None:  # type: ignore[no-untyped-def]
    want = {n: (plain.variance(y) - plain.variance(x)) / spread**2 for n, x, y, spread in groups(*table)}
    looked_at(Variances().measure(comparison(*table)), want)


@given(TABLES)
def test_quantiles(table) -> None:  # type: ignore[no-untyped-def]
    want = {}
    for name, x, y, spread in groups(*table):
        column, _, stratum = name.partition(" in ")
        for percent in PERCENTS:
            full = f"{column}, {percent} %" + (f" in {stratum}" if stratum else "")
            want[full] = (plain.quantile(y, percent) - plain.quantile(x, percent)) / spread
    looked_at(Quantiles().measure(comparison(*table)), want)


@given(TABLES)
def test_correlations(table) -> None:  # type: ignore[no-untyped-def]
    columns, strata = table
    named = dict(zip("abc", columns, strict=False))
    named = {name: pair for name, pair in named.items() if plain.there(*pair)[0]}
    found = Correlations().measure(comparison(columns, strata))
    if len(named) < 2:
        assert math.isnan(found.value)
        return

    def change(a: str, b: str, rows: list[int]) -> float:
        four = [[side[i] for i in rows] for pair in (named[a], named[b]) for side in pair]
        kept = [values for values in zip(*four, strict=True) if not any(map(math.isnan, values))]
        x, x2, y, y2 = ([values[j] for values in kept] for j in range(4))
        return plain.correlation(x2, y2) - plain.correlation(x, y) if kept else 0.0

    every = list(range(len(strata)))
    want = {f"{a} and {b}": change(a, b, every) for a, b in combinations(named, 2)}
    assert found.value == pytest.approx(max(map(abs, want.values())), abs=1e-6)
    parts = dict(found.parts)
    for name, value in want.items():
        assert parts.pop(name) == pytest.approx(value, abs=1e-6)
    for s in set(strata):
        rows = [i for i in every if strata[i] == s]
        mine = [value for name, value in parts.items() if name.endswith(f"in stratum {s}")]
        assert len(mine) == (len(rows) >= 3)
        if mine:
            most = max(abs(change(a, b, rows)) for a, b in combinations(named, 2))
            assert abs(mine[0]) == pytest.approx(most, abs=1e-6)


@pytest.mark.parametrize("measure", [Means(), Variances(), Correlations(), Quantiles()])
class TestEach:
    def test_equal_tables_have_no_change_at_all(self, measure) -> None:  # type: ignore[no-untyped-def]
        x = np.random.default_rng(1).normal(1e6, 1, (50, 3))
        x[3, 1] = math.nan
        same = comparison([(c, c) for c in x.T], [i % 4 for i in range(50)])
        assert measure.measure(same).value == 0.0

    def test_the_scale_of_a_column_does_not_matter(self, measure) -> None:  # type: ignore[no-untyped-def]
        x, y = np.random.default_rng(2).normal(size=(2, 30, 2))
        values = [
            measure.measure(comparison([(scale * a, scale * b) for a, b in zip(x.T, y.T, strict=True)])).value
            for scale in (1.0, 2.0**1000, 2.0**-500)
        ]
        assert values[0] > 0
        assert values == [values[0]] * 3

    def test_parts_are_bounded_and_name_strata_by_number(self, measure) -> None:  # type: ignore[no-untyped-def]
        x, y = np.random.default_rng(3).normal(size=(2, 1000, 8))
        strata = [i % 90 for i in range(1000)]
        found = measure.measure(comparison(list(zip(x.T, y.T, strict=True)), strata))
        assert len(found.parts) <= 200
        assert "largest changes" in found.note or isinstance(measure, Correlations)
        assert any(name.endswith("in stratum 7") or "in stratum" in name for name, _ in found.parts)

    def test_without_numbers_there_is_nothing_to_look_at(self, measure) -> None:  # type: ignore[no-untyped-def]
        found = measure.measure(Comparison(np.zeros((3, 1)), np.zeros((3, 1)), ("work",)))
        assert math.isnan(found.value)
        assert found.note


def test_what_is_missing_is_counted() -> None:
    pair = ([1.0, 2.0, math.nan], [1.0, 3.0, 2.0])
    assert "1 value was omitted" in Means().measure(comparison([pair])).note
