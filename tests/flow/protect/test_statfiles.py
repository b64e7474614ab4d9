"""SPSS and Stata files are protected as files of any format: the release keeps what its file knew of it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.types.statistical_files import Variable

QUICK = ("il_sse", "mae", "mse", "sse")  # what protect reads

PER_COLUMN = (
    "column_names_to_labels",
    "variable_value_labels",
    "original_variable_types",
    "readstat_variable_types",
    "missing_ranges",
    "variable_storage_width",
    "variable_display_width",
    "variable_alignment",
    "variable_measure",
)


def survey(path: Path, seed: int, n: int = 24) -> None:
    """A file as a survey has them: codes with labels, refusals, dates, texts."""
    rng = np.random.default_rng(seed)
    age = [None if i == 3 else -9.0 if i % 7 == 5 else float(a) for i, a in enumerate(rng.integers(18, 80, n))]
    frame = pl.DataFrame(
        {
            "id": np.arange(n) * 1.0,
            "age": pl.Series(age, dtype=pl.Float64),
            "sex": rng.integers(1, 3, n) * 1.0,
            "health": rng.integers(1, 6, n) * 1.0,
            "born": rng.integers(150_000, 159_000, n) * 86_400.0,
            "pay": [-99.0 if i % 5 == 0 else float(x) for i, x in enumerate(rng.lognormal(8, 1, n))],
            "remark": ["" if i % 3 else "x" * (i % 4) for i in range(n)],
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        file_label="Survey",
        note=["kept"],
        column_labels={"age": "Age in years", "remark": "Anything else?"},
        variable_value_labels={"sex": {1.0: "female", 2.0: "male"}, "age": {-9.0: "refused"}},
        missing_ranges={"age": [-9.0], "pay": [{"lo": -99.0, "hi": -90.0}]},
        variable_measure={"sex": "nominal", "health": "ordinal", "age": "scale"},
        variable_display_width={"age": 5, "sex": 12},
        variable_format={"age": "F3.0", "sex": "F1.0", "born": "EDATE10", "pay": "DOLLAR12.2"},
    )


RECIPE = {"quasi": ["age", "sex", "health", "born"], "confidential": ["pay"], "identifier": ["id"], "k": 3}
RECIPE |= {"row_order": "keep"}


def read(path: Path) -> tuple[dict[str, list[Any]], Any]:
    reader = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    values, meta = reader(path, user_missing=True, output_format="dict", disable_datetime_conversion=True)
    return values, meta


@settings(max_examples=10)
@given(st.integers(0, 2**20))
def test_what_leaves_keeps_its_metadata_and_its_bits(tmp_path: Path, seed: int) -> None:
    survey(tmp_path / "in.sav", seed)
    shoal.protect_file(tmp_path / "in.sav", tmp_path / "out.sav", RECIPE, force=True, keep_metadata=True)
    (before, was), (after, now) = read(tmp_path / "in.sav"), read(tmp_path / "out.sav")
    assert now.column_names == [name for name in was.column_names if name != "id"]
    assert (now.file_label, now.notes) == (was.file_label, was.notes)
    for field in PER_COLUMN:
        assert getattr(now, field) == {name: told for name, told in getattr(was, field).items() if name != "id"}, field
    assert after["remark"] == before["remark"]
    assert [struct.pack("<d", x) for x in after["pay"]] == [struct.pack("<d", x) for x in before["pay"]]


def test_kinds_by_measure_and_refusals_are_no_ages(tmp_path: Path) -> None:
    survey(tmp_path / "in.sav", 1)
    done = shoal.protect_file(tmp_path / "in.sav", tmp_path / "out.sav", RECIPE)
    kinds = {column.name: column.kind.value for column in done.schema.columns}
    assert {name: kinds[name] for name in RECIPE["quasi"]} == {  # type: ignore[attr-defined]
        "age": "integer",
        "sex": "nominal",
        "health": "ordinal",
        "born": "datetime",
    }
    after = read(tmp_path / "out.sav")[0]
    assert all(age is None or 18 <= age < 80 for age in after["age"])
    assert set(after["sex"]) <= {1.0, 2.0}
    assert set(after["health"]) <= {1.0, 2.0, 3.0, 4.0, 5.0}


@pytest.mark.parametrize("name", ["out.sav", "out.zsav", "out.dta", "out.parquet", "out.csv"])
def test_confidential_refusals_are_one_missing_value_in_every_output(tmp_path: Path, name: str) -> None:
    """Two codes that mean no answer are one value for t, whatever the output can say of them."""
    frame = pl.DataFrame({"x": [float(i) for i in range(12)], "y": [5.0, -9.0, 7.0, -8.0] * 3})
    pyreadstat.write_sav(
        frame, tmp_path / "in.sav", missing_ranges={"y": [-9.0, -8.0]}, variable_format={"y": "F4.0", "x": "F8.2"}
    )
    recipe = {"quasi": ["x"], "confidential": ["y"], "k": 4, "require": {"p": 3}}
    done = shoal.protect_file(tmp_path / "in.sav", tmp_path / name, recipe)
    (found,) = [f for f in done.audit.findings if f.model == "p_sensitivity"]
    assert found.achieved == 3  # 5, 7 and no answer


def test_stata_in_and_out_with_letters(tmp_path: Path) -> None:
    n = 12
    frame = pl.DataFrame(
        {
            "age": pl.Series([*range(20, 30), "a", "b"], dtype=pl.Object),
            "why": pl.Series([1, "a", None, "z"] * 3, dtype=pl.Object),
            "text": ["a ", "", "é"] * 4,
        }
    )
    pyreadstat.write_dta(frame, tmp_path / "in.dta", missing_user_values={"age": ["a", "b"], "why": ["a", "z"]})
    shoal.protect_file(tmp_path / "in.dta", tmp_path / "out.dta", {"quasi": ["age"], "k": 3})
    values, _ = read(tmp_path / "out.dta")
    assert (values["why"], values["text"]) == ([1, "a", None, "z"] * 3, ["a ", "", "é"] * 4)
    assert all(age is None or 20 <= age < 30 for age in values["age"])
    shoal.protect_file(tmp_path / "in.dta", tmp_path / "out.csv", {"quasi": ["age"], "k": 3})
    assert "2147483" not in (tmp_path / "out.csv").read_text()
    assert len(values["age"]) == n


def test_the_version_of_stata_is_a_parameter(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,y\n" + "".join(f"{i},{i % 3}.5\n" for i in range(9)))
    recipe = {"quasi": ["x", "y"], "k": 3, "set": {"stata_version": 12, "scale": "range"}}
    shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.dta", recipe)
    assert (tmp_path / "out.dta").read_bytes()[0] == 115
    with pytest.raises(shoal.ParameterError, match=r"no parameter \(in set\) is called 'stata_version'"):
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", recipe)
    wrong = {**recipe, "set": {"stata_version": 3}}
    with pytest.raises(shoal.ParameterError, match="stata_version must be an integer ≥ 8"):
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "no.dta", wrong)


def test_audit_and_compare_read_them(tmp_path: Path) -> None:
    survey(tmp_path / "in.sav", 2)
    shoal.protect_file(tmp_path / "in.sav", tmp_path / "out.sav", {**RECIPE, "quasi": ["sex", "born"]})
    audit = shoal.audit_file(tmp_path / "out.sav", quasi=["sex", "born"], confidential=["pay"])
    assert audit.to_dict()["k"] >= 3
    assert shoal.compare_files(tmp_path / "in.sav", tmp_path / "out.sav", columns=["born"]).to_dict()["sse"] > 0


def test_a_mean_that_would_pass_for_no_answer_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [98.0, 100.0, 98.0, 100.0]})
    pyreadstat.write_sav(frame, tmp_path / "in.sav", missing_ranges={"x": [99.0]})
    with pytest.raises(shoal.DataError, match="declares as missing; in 4 of 4 records it is"):
        shoal.protect_file(tmp_path / "in.sav", tmp_path / "out.sav", {"quasi": ["x"], "k": 4})
    assert not (tmp_path / "out.sav").exists()


def test_codes_that_mean_no_answer_name_no_subject() -> None:
    who = Variable("spss", missing=((-9, -8),)).onto(pa.field("who", pa.int64()))
    x = np.arange(8) // 2
    frame = pa.table([pa.array(x), pa.array([1, 2, 3, 4, 5, 6, -9, -8])], schema=pa.schema([("x", pa.int64()), who]))
    assert shoal.audit(frame, quasi=["x"], subject="who").to_dict()["k"] == 1  # both lack a subject: one subject
    done = shoal.protect(frame, {"quasi": ["x"], "subject": "who", "k": 2})
    assert done.audit.to_dict()["k"] == 2
    with pytest.raises(shoal.DataError, match="2 of 8 values are missing"):
        shoal.protect(frame, {"quasi": ["x"], "together": "who", "k": 2})


@pytest.mark.parametrize("target", ["out.sav", "out.dta", "out.csv", "out.parquet"])
@pytest.mark.parametrize(("release", "categories"), [("swap", None), ("medoid", None), ("centroid", "ancestor")])
def test_codes_and_refusals_leave_and_are_compared_as_what_they_are(
    release: str, categories: str | None, target: str, tmp_path: Path
) -> None:
    codes = np.random.default_rng(0).choice([1.0, 2.0, 3.0, 4.0, -9.0], 40)
    labels = {1.0: "baker", 2.0: "nurse", 3.0: "doctor", 4.0: "cook", -9.0: "refused"}
    pyreadstat.write_sav(
        pl.DataFrame({"work": codes, "x": np.arange(40.0) ** 1.5}),
        tmp_path / "in.sav",
        variable_value_labels={"work": labels},
        missing_ranges={"work": [-9]},
        variable_measure={"work": "nominal"},
        column_labels={"work": "What do you do?"},
    )
    meant = {"work": {"food and drinks": [1, 4], "health": [2, 3]}}
    recipe = {"quasi": ["work", "x"], "k": 4, "taxonomies": meant, "release": release, "row_order": "keep"}
    recipe["set"] = {"categories": categories} if categories else {}
    done = shoal.protect_file(tmp_path / "in.sav", tmp_path / target, recipe)
    read = shoal.compare_files(tmp_path / "in.sav", tmp_path / target, ["work", "x"], taxonomies=meant, measures=QUICK)
    assert {one.name: one.value for one in read.readings} == pytest.approx(
        {name: done.readings[name] for name in QUICK}
    )
    if categories and target == "out.sav":  # codes are texts now, and so are what labels are of
        frame, notes = pyreadstat.read_sav(tmp_path / target)
        assert set(frame["work"]) & {"food and drinks", "health", "*"}
        assert notes.variable_value_labels["work"] == {"1": "baker", "2": "nurse", "3": "doctor", "4": "cook"}
        assert notes.column_names_to_labels["work"] == "What do you do?"
