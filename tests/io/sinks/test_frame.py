"""A frame goes out as the kind it came in, only the named columns changed."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest

from shoal.errors import DataError
from shoal.io.sinks.frame import Frame

NEW = pa.table(
    {
        "age": pa.array([37.5, 37.5, None]),
        "sex": pa.array(["f", "m", None]),
        "day": pa.array([dt.date(2021, 1, 1)] * 3),
    }
)


def values() -> dict[str, Any]:
    return {
        "id": [1, 2, 3],
        "age": [31, 44, 20],
        "note": ["x", None, "z"],
        "sex": ["m", "m", "f"],
        "day": [dt.date(2020, 1, day) for day in (1, 2, 3)],
    }


def pandas_frame() -> pd.DataFrame:
    frame = pd.DataFrame(values(), index=pd.Index(["r", "r", "s"], name="key"))
    frame["thing"] = pd.Series([object(), 1, "x"], index=frame.index.to_series().index, dtype=object).to_numpy()
    frame.attrs["source"] = "survey"
    return frame


def test_pandas_with_numpy() -> None:
    frame = pandas_frame()
    before = frame.copy(deep=True)
    got = Frame().write(frame, NEW, ["id"])
    assert list(got.columns) == ["age", "note", "sex", "day", "thing"]
    assert got.index.equals(pd.RangeIndex(3))  # an index with a name is a column in disguise
    assert got.index.name is None
    assert got["age"].dtype == "float64"
    assert got["sex"].dtype == before["sex"].dtype
    assert got["day"].dtype == object
    assert got["age"].tolist()[:2] == [37.5, 37.5]
    assert got["day"].tolist() == [dt.date(2021, 1, 1)] * 3
    assert got["thing"].tolist() == before["thing"].tolist()
    assert got.attrs == {}
    pd.testing.assert_frame_equal(frame, before)
    got.loc[:, "note"] = "changed"
    pd.testing.assert_frame_equal(frame, before)


def test_pandas_with_pyarrow() -> None:
    frame = pd.DataFrame(values()).convert_dtypes(dtype_backend="pyarrow")
    before = frame.copy(deep=True)
    got = Frame().write(frame, NEW, [])
    assert list(got.columns) == list(frame.columns)
    assert got["age"].dtype == pd.ArrowDtype(pa.float64())
    assert got["sex"].dtype == pd.ArrowDtype(pa.string())
    assert got["id"].dtype == frame["id"].dtype
    assert got["sex"].isna().tolist() == [False, False, True]
    pd.testing.assert_frame_equal(frame, before)


def test_pandas_with_masks() -> None:
    frame = pd.DataFrame({"a": pd.array([1, None], "Int64"), "s": pd.array(["x", None], "string"), "i": [1, 2]})
    new = pa.table({"a": pa.array([5, None]), "s": pa.array(["y", None]), "i": pa.array([7, 8])})
    got = Frame().write(frame, new, [])
    assert list(map(str, got.dtypes)) == ["Int64", "string", "int64"]
    assert got["a"].tolist() == [5, pd.NA]


def test_pandas_types_that_stay() -> None:
    frame = pd.DataFrame(
        {
            "t": pd.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("UTC"),
            "c": pd.Categorical(["x", "y"]),
            "b": [True, False],
        }
    )
    table = pa.Table.from_pandas(frame)
    pd.testing.assert_frame_equal(Frame().write(frame, table, []), frame)


def test_polars() -> None:
    frame = pl.DataFrame(values()).with_columns(pl.Series("thing", [object(), 1, "x"], pl.Object))
    before = frame.clone()
    got = Frame().write(frame, NEW, ["id"])
    assert got.columns == ["age", "note", "sex", "day", "thing"]
    assert got.dtypes == [pl.Float64, pl.String, pl.String, pl.Date, pl.Object]
    assert got["age"].to_list() == [37.5, 37.5, None]
    assert got["note"].to_list() == ["x", None, "z"]
    polars.testing.assert_frame_equal(frame.drop("thing"), before.drop("thing"))


def test_pyarrow_keeps_metadata() -> None:
    fields = [pa.field("id", pa.int64()), pa.field("age", pa.int64(), metadata={"label": "years"})]
    table = pa.table([[1, 2], [31, 44]], schema=pa.schema(fields, metadata={"source": "survey"}))
    got = Frame().write(table, pa.table({"age": [37.5, 37.5]}), {"id"})
    assert got.schema.metadata == {b"source": b"survey"}
    assert got.schema.field("age").metadata == {b"label": b"years"}
    assert got.schema.field("age").type == pa.float64()
    assert table.to_pydict() == {"id": [1, 2], "age": [31, 44]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_new_columns_come_last_and_nothing_changes_nothing(make: Any) -> None:
    frame = make({"a": [1, 2], "b": [3, 4]})
    got = Frame().write(frame, pa.table({"class": ["x", "y"], "a": [0, 0]}), ["b", "not there"])
    assert list(got.columns if make is not pa.table else got.column_names) == ["a", "class"]
    same = Frame().write(frame, pa.table({}), [])
    assert same.equals(frame)


def test_rows_must_match() -> None:
    with pytest.raises(DataError, match="each of the 2 rows, got 3"):
        Frame().write(pa.table({"a": [1, 2]}), pa.table({"a": [1, 2, 3]}), [])
