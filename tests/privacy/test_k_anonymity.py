"""The auditor fails closed: nothing is dropped, nothing depends on order, one changed cell turns it red."""

from __future__ import annotations

from collections import Counter
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal

CELL = st.one_of(st.none(), st.sampled_from(["a", "b", "", "ä", "None", "nan"]))
ROWS = st.lists(st.tuples(CELL, CELL), min_size=1, max_size=30)


def table(rows: list[tuple]) -> pa.Table:
    return pa.table({name: pa.array([row[j] for row in rows], pa.string()) for j, name in enumerate("xy")})


@given(rows=ROWS)
def test_achieved_is_the_rarest_combination_and_a_missing_value_is_a_value(rows: list[tuple]) -> None:
    found = shoal.audit(table(rows), quasi=["x", "y"])
    counted = Counter(rows)
    assert found.overall.achieved == min(counted.values())
    assert found.overall.classes == len(counted)
    assert found.records == len(rows)


@given(rows=ROWS, seed=st.integers(0, 99))
def test_row_order_changes_nothing(rows: list[tuple], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(rows))
    shuffled = [rows[i] for i in order]
    first, second = (shoal.audit(table(r), quasi=["x", "y"]).to_dict() for r in (rows, shuffled))
    assert first == second


@given(rows=st.lists(st.tuples(CELL, st.integers(1, 4)), min_size=1, max_size=30))
def test_with_subjects_k_counts_different_subjects(rows: list[tuple]) -> None:
    frame = pa.table({"x": pa.array([r[0] for r in rows], pa.string()), "who": [r[1] for r in rows]})
    found = shoal.audit(frame, quasi=["x"], subject="who")
    people = Counter(value for value, _ in set(rows))
    assert found.overall.achieved == min(people.values())


def test_one_changed_cell_turns_an_exact_release_red() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    frame = pa.table({"x": X[:, 0], "y": X[:, 1]})
    data = shoal.protect(frame, {"quasi": ["x", "y"], "k": 5}).data
    assert shoal.audit(data, quasi=["x", "y"], require={"k": 5}).holds
    for row in range(len(data)):
        for name in ("x", "y"):
            values = data.column(name).to_pylist()
            values[row] = np.nextafter(values[row], np.inf)
            changed = data.set_column(data.column_names.index(name), name, pa.array(values))
            found = shoal.audit(changed, quasi=["x", "y"], require={"k": 5})
            assert not found.holds
            assert found.overall.achieved == 1


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_one_missing_cell_makes_a_record_unique(missing: float | None) -> None:
    frame = pa.table({"x": pa.array([1.0, 1.0, 1.0, missing])})
    assert shoal.audit(frame, quasi=["x"]).overall.achieved == 1


def test_kind_of_frame_and_type_of_column_change_nothing() -> None:
    values = [3, 3, 5, 5, 5, 3]
    frames = [
        pa.table({"x": values}),
        pa.table({"x": pa.array([str(v) for v in values]).dictionary_encode()}),
        pa.table({"x": pa.array([date(2020, 1, v) for v in values])}),
        pd.DataFrame({"x": values}, index=[9, 9, 9, 1, 2, 0]),
        pd.DataFrame({"x": pd.Categorical(values)}),
        pl.DataFrame({"x": values}),
    ]
    assert [shoal.audit(frame, quasi=["x"]).overall.achieved for frame in frames] == [3] * len(frames)


def test_the_worst_classes_are_named_by_number_in_order_of_their_first_row() -> None:
    found = shoal.audit(pa.table({"x": ["secret", "a", "a", "b", "a"]}), quasi=["x"])
    assert found.overall.worst == ((0, 1), (2, 1), (1, 3))
    assert "secret" not in repr(found)


def test_requirements_are_reported_as_the_contract_says() -> None:
    frame = pa.table({"x": [1, 1, 2, 2], "c": [1, 2, 3, 4]})
    assert shoal.audit(frame, quasi=["x"], confidential=["c"], require={"k": 3}).to_dict() == {
        "records": 4,
        "classes": 2,
        "k": 2,
        "dominance": 0.5,
        "quasi": ["x"],
        "confidential": {
            "c": {
                "p": 2,
                "l_distinct": 2,
                "l_entropy": 2.0,
                "l_recursive": {"c": 2, "l": 2},
                "alpha": 0.5,
                "e": 1.0,
                "t": 1 / 3,
            }
        },
        "requirements": [
            {
                "model": "k_anonymity",
                "attributes": ["x"],
                "level": "k",
                "required": 3,
                "achieved": 2,
                "holds": False,
                "note": "",
            }
        ],
    }


def test_lists_cannot_be_audited() -> None:
    with pytest.raises(shoal.DataError, match="Column 'x': lists and structures cannot be audited"):
        shoal.audit(pa.table({"x": [[1], [1]]}), quasi=["x"])


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(shoal.ParameterError, match="no model is called 'q'"):
        shoal.audit(pa.table({"x": [1, 1]}), quasi=["x"], require={"q": 2})


def test_a_model_is_required_once_under_one_name() -> None:
    frame = pa.table({"x": [1, 1]})
    for require in ({"k_anonymity": 9, "k": 2}, {"k": 9, "k_anonymity": 2}):
        with pytest.raises(shoal.ParameterError, match="k_anonymity is required twice"):
            shoal.audit(frame, quasi=["x"], require=require)


def test_one_text_is_no_list_of_columns() -> None:
    with pytest.raises(shoal.ParameterError, match="quasi must be a list of column names, got 'ab'"):
        shoal.audit(pa.table({"a": [1, 1], "b": [2, 2]}), quasi="ab")


@pytest.mark.parametrize("who", [["7", " 7", "7 "], [0.0, -0.0, 0.0], [float("nan"), None, None], ["", " ", None]])
def test_one_subject_written_in_several_ways_is_one(who: list) -> None:
    frame = pa.table({"x": [1, 1, 1], "who": pa.array(who, from_pandas=False)})
    assert shoal.audit(frame, quasi=["x"], subject="who").overall.achieved == 1


def test_columns_of_any_plain_type_can_be_audited() -> None:
    import uuid

    values = pa.array([uuid.UUID(int=i % 2).bytes for i in range(4)], pa.binary(16))
    for column in (pa.ExtensionArray.from_storage(pa.uuid(), values), values, pa.array([True, False] * 2)):
        assert shoal.audit(pa.table({"x": column}), quasi=["x"]).overall.achieved == 2


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_nan_and_missing_values_in_several_chunks_are_two_classes(kind: pa.DataType) -> None:
    nan = float("nan")
    cells = [pa.array(some, kind, from_pandas=False) for some in ([nan, None, 1.5], [None, nan, 1.5])]
    found = shoal.audit(pa.table({"x": pa.chunked_array(cells)}), quasi=["x"]).overall
    assert (found.achieved, found.classes) == (2, 3)
