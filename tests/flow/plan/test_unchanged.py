"""Columns that are released unchanged: how many records they make unique, and when that is a warning."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal.flow.plan.promise import Coded, coded, count_unique, unique_records

N = 60
QUASI = ["a", "b"]


def table(**more: Any) -> pa.Table:
    rng = np.random.default_rng(1)
    ill = [None if i % 7 == 0 else "flu" if i % 2 else "cold" for i in range(N)]
    return pa.table(
        {
            "a": rng.permutation(N),
            "b": rng.random(N),
            "ill": pa.array(ill),
            "town": pa.array([None if i % 9 == 0 else f"t{i % 5}" for i in range(N)]),
            "w": pa.array(rng.integers(1, 20, N)),
            "stratum": pa.array([i % 2 for i in range(N)]),
            **more,
        }
    )


def unique_by(rows: list[tuple[Any, ...]]) -> int:
    """Count in the simplest way."""
    return sum(count == 1 for count in Counter(rows).values())


def seen(data: pa.Table, names: list[str]) -> int:
    return unique_by(list(zip(*(map(repr, data.column(name).to_pylist()) for name in names), strict=True)))


CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "centroid": ({"confidential": ["ill"]}, ["ill", "town", "w", "stratum"]),
    "medoid": ({"confidential": ["ill"], "release": "medoid"}, ["ill", "town", "w", "stratum"]),
    "swap": ({"confidential": ["ill"], "release": "swap"}, ["ill", "town", "w", "stratum"]),
    "anatomy": ({"confidential": ["ill"], "release": "anatomy"}, ["town", "w", "stratum"]),
    "laplace": (
        {"confidential": ["ill"], "release": "laplace", "epsilon": 1.0, "bounds": {"a": [0, 60], "b": [0, 1]}},
        ["ill", "town", "w", "stratum"],
    ),
    "strata": ({"strata": ["stratum"]}, ["ill", "town", "w", "stratum"]),
    "weights of classes": ({"weight": "w"}, ["ill", "town", "stratum"]),
    "weights of records": ({"weight": "w", "release_weight": "record"}, ["ill", "town", "w", "stratum"]),
    "no weights": ({"weight": "w", "release_weight": "none"}, ["ill", "town", "stratum"]),
    "weights in two tables": (
        {"weight": "w", "release": "anatomy", "confidential": ["ill"]},
        ["town", "w", "stratum"],
    ),
    "subjects": ({"subject": "town"}, ["ill", "w", "stratum"]),
    "nothing": ({"identifier": ["ill", "town", "w", "stratum"]}, []),
}


@pytest.mark.parametrize("case", CASES)
def test_counts_are_those_of_the_output(case: str) -> None:
    recipe, names = CASES[case]
    given = table() if case != "subjects" else table(town=pa.array([f"p{i % 30}" for i in range(N)]))
    done = shoal.protect(given, {"quasi": QUASI, "k": 3, **recipe})
    found = done.audit.unchanged
    assert found is not None
    assert list(found.columns) == names
    assert found.unique == found.unreviewed_unique == (seen(done.data, names) if names else 0)
    if not names:
        assert done.audit.warnings == ()
        return
    assert found.in_class is not None
    shown = {"anatomy": ["class"], "weights in two tables": ["class"]}.get(case, QUASI)
    for name, unique in found.in_class:
        if case == "swap":
            rows = list(zip(done.partition.labels.tolist(), done.data.column(name).to_pylist(), strict=True))
            assert unique == unique_by(rows)
        else:
            assert unique == seen(done.data, [*shown, name])


def test_reviewed_columns_lower_only_the_first_figure() -> None:
    ids = pa.array(range(N))
    before, after = (
        shoal.protect(table(id=ids), {"quasi": QUASI, "k": 3, "identifier": ["w"], "reviewed": reviewed}).audit
        for reviewed in ([], ["id"])
    )
    assert before.unchanged.unique == after.unchanged.unique == N
    assert before.unchanged.unreviewed_unique == N
    assert after.unchanged.unreviewed_unique == seen(table(), ["ill", "town", "stratum"])
    assert after.unchanged.reviewed == ("id",)
    assert "not reviewed: ill, town, stratum, id." in before.warnings[0]
    assert not any(", id" in warning for warning in after.warnings)
    assert after.unchanged.to_dict()["unique_records"] == N


def test_all_columns_reviewed_leave_nothing_to_warn_of() -> None:
    names = ["ill", "town", "w", "stratum"]
    audit = shoal.protect(table(), {"quasi": QUASI, "k": 3, "reviewed": names}).audit
    assert audit.unchanged.unreviewed_unique == 0
    assert audit.unchanged.unique > 0
    assert audit.warnings == ()


@pytest.mark.parametrize(("unique", "warned"), [(5, False), (6, True)])
def test_five_percent_is_not_yet_a_warning(unique: int, warned: bool) -> None:
    codes = np.concatenate((np.arange(unique), np.full(100 - unique, unique)))
    found = count_unique(100, {"c": Coded(codes, unique + 1)}, ())
    assert found.unique == unique
    assert bool(found.warning) is warned


def test_missing_is_a_value_and_so_is_nan() -> None:
    assert unique_records([coded(pa.chunked_array([["a", None, "a"]]))]) == 1
    assert unique_records([coded(pa.chunked_array([["a", None, None]]))]) == 1
    assert unique_records([coded(pa.chunked_array([[1.0, float("nan"), float("nan")]]))]) == 1
    assert unique_records([coded(pa.chunked_array([pa.nulls(3)]))]) == 0


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [1], None, [2]]),
        pa.array([{"x": 1}, {"x": 1}, {"x": None}, None]),
        pa.array([b"1", b"1", b"2", None]),
        pa.array(["1", "1", "2", None]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), pa.array(["1", "1", "2", None])),
        pa.array([pa.MonthDayNano([1, 1, 0]), pa.MonthDayNano([1, 1, 0]), pa.MonthDayNano([2, 1, 0]), None]),
        pa.array([True, True, False, None]),
        pa.array([1, 1, 2, None], pa.decimal128(5, 2)),
        pa.array([1, 1, 2, None], pa.timestamp("ns", "UTC")),
        pa.array([bytes(16), bytes(16), bytes(15) + b"1", None], pa.uuid()),
    ],
)
def test_values_of_any_type_are_told_apart(values: pa.Array) -> None:
    assert unique_records([coded(pa.chunked_array([values]))]) == 2
    assert coded(pa.chunked_array([values[:2], values[2:]])).distinct == 3


def test_many_columns_with_many_values_do_not_overflow() -> None:
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 900, 1000) for _ in range(12)]
    columns = [np.concatenate((one, one[:400])) for one in columns]
    found = unique_records([coded(pa.chunked_array([one])) for one in columns])
    assert found == unique_by(list(zip(*(one.tolist() for one in columns), strict=True))) == 600


def test_columns_that_arrow_cannot_hold_are_counted() -> None:
    frame = table().to_pandas().drop(columns="w")
    frame["mixed"] = [i % 3 if i % 2 else f"x{i % 3}" for i in range(N)]
    found = shoal.protect(frame, {"quasi": QUASI, "k": 3}).audit.unchanged
    assert found.columns[-1] == "mixed"
    assert found.unique == unique_by(list(frame[list(found.columns)].map(repr).itertuples(index=False, name=None)))


@pytest.mark.parametrize("method", ["individual_ranking", "mic1d"])
def test_a_record_without_one_class_is_not_counted_within_one(method: str, tmp_path: Path) -> None:
    done = shoal.protect(table(), {"quasi": QUASI, "k": 3, "method": method})
    assert done.audit.unchanged.in_class is None
    assert done.audit.unchanged.to_dict()["unique_in_class"] is None
    done.report(tmp_path / "r.html")
    assert "columns are not counted within classes" in (tmp_path / "r.html").read_text()


def test_adult_records_are_unique_by_unchanged_columns() -> None:
    if "SHOAL_DATA" not in os.environ:
        pytest.skip("needs the public data sets")
    data = pa.csv.read_csv(Path(os.environ["SHOAL_DATA"]) / "adult.csv")
    names = ("workclass", "fnlwgt", "relationship", "capital-gain", "capital-loss", "hours-per-week", "prediction")
    found = count_unique(len(data), {name: coded(data.column(name)) for name in names}, ())
    assert (found.unique, found.records) == (28819, 30162)
    assert found.warning.startswith("28,819 of 30,162 records (95.5 %) are unique on columns that are released")


def one_value(require: dict[str, Any] | None = None) -> Any:
    ill = pa.array(["flu" if i < 12 else None if i < 18 else f"x{i % 4}" for i in range(N)])
    data = pa.table({"a": [i // 6 for i in range(N)], "ill": ill})
    return shoal.protect(data, {"quasi": ["a"], "k": 6, "confidential": ["ill"], "require": require or {}})


def test_classes_of_one_confidential_value_are_a_warning_with_a_count() -> None:
    audit = one_value().audit
    assert audit.to_dict()["confidential"]["ill"]["alpha"] == 1
    (warning,) = audit.warnings
    assert "of 'ill' in 3 of 10 classes (18 records)" in warning


def test_a_requirement_that_limits_the_column_ends_the_warning() -> None:
    limited = one_value({"t": 0.9}).audit
    assert limited.to_dict()["confidential"]["ill"]["alpha"] == 1
    assert limited.warnings == ()


@pytest.mark.parametrize("vacuous", [{"p": 1}, {"alpha": {"ill": 1}}])
def test_a_requirement_that_every_table_meets_does_not(vacuous: dict[str, Any]) -> None:
    assert one_value(vacuous).audit.warnings == one_value().audit.warnings != ()


@pytest.mark.parametrize("edition", ["internal", "external"])
def test_the_banner_turns_amber(edition: str, tmp_path: Path) -> None:
    one_value().report(tmp_path / "amber.html", edition)
    page = (tmp_path / "amber.html").read_text()
    assert '<div class="verdict warn">' in page
    assert "in 3 of 10 classes (18 records)" in page
    assert '<section id="unchanged">' in page
    shoal.protect(table(), {"quasi": QUASI, "identifier": ["ill", "town", "w", "stratum"], "k": 3}).report(
        tmp_path / "green.html", edition
    )
    green = (tmp_path / "green.html").read_text()
    assert '<div class="verdict">' in green
    assert '<section id="unchanged">' not in green


REFUSED = {
    "a quasi-identifier": ({"reviewed": ["a"]}, "'a' is not: it is a quasi-identifier"),
    "an identifier": ({"identifier": ["town"], "reviewed": ["town"]}, "'town' is not: it is removed"),
    "a subject": ({"subject": "town", "reviewed": ["town"]}, "'town' is not: it is removed"),
    "a group": ({"together": "town", "reviewed": ["town"]}, "'town' is not: it is removed"),
    "a weight": ({"weight": "w", "reviewed": ["w"]}, "'w' is not: the mean weight of a class is released"),
    "no weight": ({"weight": "w", "release_weight": "none", "reviewed": ["w"]}, "'w' is not: the weight is removed"),
    "twice": ({"reviewed": ["town", "town"]}, "reviewed names column 'town' twice"),
    "no list": ({"reviewed": "town"}, "reviewed must be a list of column names"),
    "noise for originals": (
        {"release": "laplace", "epsilon": 1, "claim": "original", "bounds": {"a": [0, 1], "b": [0, 1]},
         "reviewed": ["town"]},
        "'town' is not: only quasi-identifiers are released",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_reviewed_must_be_released_unchanged(case: str) -> None:
    recipe, sentence = REFUSED[case]
    with pytest.raises(shoal.ParameterError, match=sentence):
        shoal.Recipe(quasi=QUASI, k=3, **recipe)


def test_reviewed_may_hold_weights_that_are_released() -> None:
    for recipe in ({"release_weight": "record"}, {"release": "anatomy", "confidential": ["ill"]}):
        done = shoal.protect(table(), {"quasi": QUASI, "k": 3, "weight": "w", "reviewed": ["w"], **recipe})
        assert done.audit.unchanged.reviewed == ("w",)


def test_reviewed_must_be_in_the_table() -> None:
    with pytest.raises(shoal.SchemaError, match=r"no column is called 'twon'.*Did you mean 'town'"):
        shoal.protect(table(), {"quasi": QUASI, "k": 3, "reviewed": ["twon"]})
    with pytest.raises(shoal.SchemaError, match="no column is called 'twon'"):
        shoal.inspect(table(), reviewed=["twon"])


def test_inspect_counts_by_guessed_roles() -> None:
    data = pa.table({"age": range(N), "sex": list("fm") * 30, "illness": [f"i{i % 50}" for i in range(N)]})
    found = shoal.inspect(data)
    assert found.unchanged.columns == ("illness",)
    assert found.unchanged.unique == 40
    assert found.to_dict()["unchanged"]["unique_in_class"] is None
    assert '\n# reviewed = ["illness"]\n' in found.recipe
    reviewed = shoal.inspect(data, reviewed=["illness"])
    assert reviewed.unchanged.unreviewed_unique == 0
    assert shoal.Recipe.from_toml(reviewed.recipe).reviewed == ("illness",)
    with pytest.raises(shoal.ParameterError, match="'age' is not: its role is guessed to be quasi"):
        shoal.inspect(data, reviewed=["age"])


def test_files_are_counted_as_they_are_written(tmp_path: Path) -> None:
    pd.DataFrame(table().to_pandas()).to_csv(tmp_path / "in.csv", index=False)
    done = shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", {"quasi": QUASI, "k": 3})
    out = pd.read_csv(tmp_path / "out.csv", dtype=str)
    names = list(done.audit.unchanged.columns)
    assert done.audit.unchanged.unique == unique_by(list(out[names].map(repr).itertuples(index=False, name=None)))
