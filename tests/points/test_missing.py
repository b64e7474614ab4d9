"""Missing values as points; releasing and auditing agree about them, whatever the policy."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.points._missing import Missing
from shoal.points.datetime import Datetime
from shoal.points.encoding import Encoding, attribute_of
from shoal.points.numeric import Numeric
from shoal.types import Column, Footing, Kind, Role

PAY = Column("pay", Role.QUASI, Kind.CONTINUOUS)
POLICIES = ("category", "exclude", "fill")


def unscaled(values: np.ndarray) -> Footing:
    return Footing(0.0, 1.0, 0)


numbers = st.lists(st.one_of(st.none(), st.integers(-9, 9).map(float)), min_size=2, max_size=9).filter(
    lambda values: any(v is not None for v in values)
)


class TestPoints:
    @settings(max_examples=40)
    @given(numbers)
    def test_are_at_the_mean_and_1_away(self, values: list[float | None]) -> None:
        cells = pa.chunked_array([pa.array(values, pa.float64())])
        found = attribute_of(PAY, cells, Numeric, "category")
        filled = attribute_of(PAY, cells, Numeric, "fill")
        mean = np.mean([v for v in values if v is not None])
        expected = [[mean if v is None else v, float(v is None)] for v in values]
        width = 1 + (None in values)
        np.testing.assert_allclose(found.place(unscaled).coordinates, np.array(expected)[:, :width])
        np.testing.assert_allclose(filled.place(unscaled).coordinates, np.array(expected)[:, :1])
        for attribute in (found, filled):
            placed = attribute.place(unscaled)
            np.testing.assert_array_equal(attribute.like(cells, placed), placed.coordinates)

    @settings(max_examples=40)
    @given(numbers, st.floats(0, 50))
    def test_count_as_many_times_as_the_weight_says(self, values: list[float | None], weight: float) -> None:
        found = attribute_of(PAY, pa.chunked_array([pa.array(values, pa.float64())]), Numeric, "category")
        plain, heavy = (Encoding().encode([found], {"pay": w}).coordinates for w in (1.0, weight))
        np.testing.assert_allclose(heavy, np.sqrt(weight) * plain, atol=1e-12)

    @pytest.mark.parametrize(("missing", "expected"), [("category", [None, 4.0, 3.0]), ("fill", [9.0, 4.0, 3.0])])
    def test_a_class_of_which_most_is_missing_has_no_value(self, missing: str, expected: list[float | None]) -> None:
        cells = pa.chunked_array([pa.array([9.0, None, None, 4.0, None, 1.0, 5.0])])
        found = attribute_of(PAY, cells, Numeric, missing).centroid(
            np.array([0, 0, 0, 1, 1, 2, 2]), None, resolution=None
        )
        assert [found[row].as_py() for row in (0, 3, 5)] == expected

    def test_a_class_of_nothing_has_no_value(self) -> None:
        found = attribute_of(PAY, pa.chunked_array([pa.array([9.0, None, None])]), Numeric, "fill")
        assert found.centroid(np.array([0, 1, 1]), None, resolution=None).to_pylist() == [9.0, None, None]

    def test_a_column_may_leave_without_any_value(self) -> None:
        days = pa.chunked_array([pa.array([date(2020, 1, 1), None, None])])
        found = Missing.encode("born", days, Datetime.encode, apart=True)
        placed = found.place(unscaled)
        assert found.like(pa.chunked_array([pa.nulls(3, pa.date32())]), placed)[:, 1].tolist() == [1.0, 1.0, 1.0]

    def test_infinities_are_named_by_their_own_row(self) -> None:
        with pytest.raises(shoal.DataError, match="1 of 4 are NaN or infinite, in data row 4"):
            attribute_of(PAY, pa.chunked_array([[None, 1.0, None, np.inf]]), Numeric, "category")


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_weighted_totals_are_kept(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(1e4, 1e3, 60), rng.uniform(0.1, 40, 60)
    labels = np.unique(rng.integers(0, 9, 60), return_inverse=True)[1]
    means = Numeric.encode("pay", pa.chunked_array([values])).centroid(labels, weights, resolution=None).to_numpy()
    assert (means * weights).sum() == pytest.approx((values * weights).sum(), rel=1e-9)


N = 60


def people(seed: int = 3) -> dict[str, list[Any]]:
    """A column of each kind, in which a fifth of the values is missing."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {
        "age": rng.integers(18, 90, N).astype(float).tolist(),
        "born": [date(1950, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 20_000, N)],
        "work": rng.choice(["nurse", "doctor", "cook", "baker"], N).tolist(),
        "school": rng.choice(["primary", "secondary", "university"], N).tolist(),
    }
    return {
        name: [None if gone else value for value, gone in zip(values, rng.random(N) < 0.2, strict=True)]
        for name, values in columns.items()
    }


def recipe(policy: str) -> dict[str, Any]:
    return {
        "quasi": ["age", "born", "work", "school"],
        "k": 4,
        "orders": {"school": ["primary", "secondary", "university"]},
        "taxonomies": {"work": {"health": ["nurse", "doctor"], "food": ["cook", "baker"]}},
        "when_missing": policy,
    }


class TestReleasingAndAuditingAgree:
    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("make", [pa.table, pl.DataFrame, lambda columns: pa.table(columns).to_pandas()])
    def test_on_frames(self, make: Any, policy: str) -> None:
        frame = make(people())
        done = shoal.protect(frame, recipe(policy))
        assert type(done.data) is type(frame)
        again = shoal.audit(done.data, quasi=recipe(policy)["quasi"], require={"k": 4})
        self.check(policy, done, again, pa.table(done.data) if not isinstance(done.data, pd.DataFrame) else done.data)

    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_on_files(self, tmp_path: Path, suffix: str, policy: str) -> None:
        columns = {name: ["NA" if v is None else str(v) for v in values] for name, values in people().items()}
        rows = zip(*columns.values(), strict=True)
        source, target = tmp_path / "in.csv", tmp_path / f"out{suffix}"
        source.write_text("\n".join([",".join(columns), *map(",".join, rows)]) + "\n")
        asked = {**recipe(policy), "text": {"missing": ["NA"]}}
        done = shoal.protect_file(source, target, asked)
        again = shoal.audit_file(target, quasi=asked["quasi"], require={"k": 4})
        self.check(policy, done, again, done.data)
        frames = shoal.protect(pa.table(people()), recipe(policy))
        assert np.array_equal(done.partition.labels, frames.partition.labels)

    def check(self, policy: str, done: Any, again: Any, data: Any) -> None:
        complete = [all(v is not None for v in row) for row in zip(*people().values(), strict=True)]
        left = sum(complete) if policy == "exclude" else N
        assert again.holds
        assert again.records == done.audit.records == left
        assert done.left_out == N - left
        assert (again.overall.achieved, again.overall.classes) == (
            done.audit.overall.achieved,
            done.audit.overall.classes,
        )
        missing = (
            int(data.isna().sum().sum())
            if isinstance(data, pd.DataFrame)
            else sum(column.null_count for column in data.columns)
        )
        assert (missing > 0) == (policy == "category")


def test_declared_codes_exclude_as_missing_values_do(tmp_path: Path) -> None:
    from shoal.types.statistical_files import Variable

    field = Variable("spss", missing=((-9, -9),)).onto(pa.field("age", pa.int64()))
    table = pa.table([pa.array([-9, *range(20, 29)])], schema=pa.schema([field]))
    done = shoal.protect(table, {"quasi": ["age"], "k": 3, "when_missing": "exclude"})
    assert done.left_out == 1


def test_ordered_numbers_of_a_text_file_leave_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("grade\n" + "\n".join("1222334445"))
    asked = {"quasi": ["grade"], "k": 3, "kinds": {"grade": "ordinal"}}
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", asked)
    assert set((tmp_path / "out.csv").read_text().split()[1:]) <= set("12345")


def test_rows_have_the_numbers_that_they_have_in_the_table_whoever_is_excluded() -> None:
    frame = pd.DataFrame({"a": [None, *map(float, range(11))], "b": np.arange(12.0), "w": np.ones(12)})
    recipe = {"quasi": ["a", "b"], "k": 3, "weight": "w", "when_missing": "exclude"}
    frame.loc[8, "b"] = np.inf
    with pytest.raises(shoal.DataError, match="in data row 9"):
        shoal.protect(frame, recipe)
    frame.loc[8, ["b", "w"]] = 1.0, -1.0
    with pytest.raises(shoal.DataError, match="negative in data row 9"):
        shoal.protect(frame, recipe)


@pytest.mark.parametrize(
    ("values", "weights", "expected"),
    [
        ([None, None, 4.0], [0.0, 0.0, 0.0], None),  # weights that are all 0 count the same
        ([None, 2.0, 4.0], [0.0, 0.0, 0.0], 3.0),
        ([None, None, None, 4.0], [0.1, 0.1, 0.1, 0.3], 4.0),  # a half is not more than a half, however it is rounded
        ([None, None, 4.0], [1.0, 1.0, 2.5], 4.0),
    ],
)
def test_a_class_leaves_without_a_value_where_more_than_half_of_its_weight_lacks_one(
    values: list[float | None], weights: list[float], expected: float | None
) -> None:
    found = attribute_of(PAY, pa.chunked_array([pa.array(values, pa.float64())]), Numeric, "category")
    left = found.centroid(np.zeros(len(values), np.int64), np.array(weights), resolution=None)
    assert left.to_pylist() == [expected] * len(values)
