"""Parquet and Arrow files come in with their types, or not at all."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.errors import DataError, SchemaError
from shoal.io.sinks.arrow import Arrow as ArrowSink
from shoal.io.sinks.parquet import Parquet as ParquetSink
from shoal.io.sources.arrow import Arrow
from shoal.io.sources.parquet import Parquet

SECRET = "s3cr3t"
FORMATS = [(Parquet(), ParquetSink(), "a.parquet"), (Arrow(), ArrowSink(), "a.arrow")]


def table() -> pa.Table:
    fields = [
        pa.field("age", pa.int16(), metadata={"label": "age in years"}),
        pa.field("income", pa.float64()),
        pa.field("name", pa.string(), nullable=False),
        pa.field("day", pa.date32()),
        pa.field("moment", pa.timestamp("us", "UTC")),
        pa.field("amount", pa.decimal128(10, 2)),
        pa.field("group", pa.dictionary(pa.int32(), pa.string())),
        pa.field("tags", pa.list_(pa.field("element", pa.string()))),
    ]
    row = (31, 1.5, SECRET, dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    columns = [*row, decimal.Decimal("1.50"), "x", ["y"]]
    schema = pa.schema(fields, metadata={"source": "survey"})
    none: list[Any] = [None, float("nan"), "", None, None, None, None, None]
    return pa.table([pa.array(list(two), f.type) for f, *two in zip(fields, columns, none, strict=True)], schema)


@pytest.mark.parametrize(("source", "sink", "name"), FORMATS)
def test_round_trip_with_metadata(tmp_path: Path, source: Any, sink: Any, name: str) -> None:
    sink.write(table(), tmp_path / name, None)
    got, dialect = source.read(tmp_path / name)
    assert dialect is None
    assert got.schema.remove_metadata().equals(table().schema.remove_metadata())
    assert got.schema.metadata == {b"source": b"survey"}
    assert got.schema.field("age").metadata[b"label"] == b"age in years"
    assert got.to_pylist()[0] == table().to_pylist()[0]
    assert [str(cell) for cell in got.to_pylist()[1].values()] == [
        str(cell) for cell in table().to_pylist()[1].values()
    ]


def test_stream_format(tmp_path: Path) -> None:
    with pa.ipc.new_stream(tmp_path / "a.arrow", table().schema) as writer:
        writer.write_table(table())
    assert Arrow().read(tmp_path / "a.arrow")[0].num_rows == 2


def test_slices_with_different_dictionaries(tmp_path: Path) -> None:
    chunks = [pa.array(part).dictionary_encode() for part in (["a", "b"], ["c"])]
    ArrowSink().write(pa.table({"x": pa.chunked_array(chunks)}).slice(1), tmp_path / "a.arrow", None)
    assert Arrow().read(tmp_path / "a.arrow")[0].to_pydict() == {"x": ["b", "c"]}


def test_a_folder_called_key_equals_value_adds_no_column(tmp_path: Path) -> None:
    (tmp_path / "year=2020").mkdir()
    path = tmp_path / "year=2020" / "a.parquet"
    ParquetSink().write(table(), path, None)
    assert Parquet().read(path)[0].column_names == table().column_names


@pytest.mark.parametrize(("source", "sink", "name"), FORMATS)
@pytest.mark.parametrize("keep", [0, 3, 7, 40, 0.5, 0.9, -1, -9])
def test_cut_short(tmp_path: Path, source: Any, sink: Any, name: str, keep: float) -> None:
    path = tmp_path / name
    sink.write(table(), path, None)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(DataError, match=f"{name}: ") as caught:
        source.read(path)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("source", "sink", "name"), FORMATS)
def test_any_damaged_byte_raises_nothing_else(tmp_path: Path, source: Any, sink: Any, name: str) -> None:
    path = tmp_path / name
    sink.write(pa.table({"a": ["x", SECRET], "b": [1, 2]}), path, None)
    raw = path.read_bytes()
    for place in range(0, len(raw), 3):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
        message = ""
        try:
            source.read(path)
        except (DataError, SchemaError) as error:
            message = str(error)
        assert SECRET not in message


@pytest.mark.parametrize(("source", "sink", "name"), FORMATS)
def test_not_that_format(tmp_path: Path, source: Any, sink: Any, name: str) -> None:
    (tmp_path / name).write_text(f"a,b\n{SECRET},2\n" * 20)
    with pytest.raises(DataError, match="damaged") as caught:
        source.read(tmp_path / name)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(("source", "sink", "name"), FORMATS)
def test_nothing_in_it(tmp_path: Path, source: Any, sink: Any, name: str) -> None:
    path = tmp_path / name
    sink.write(table().slice(0, 0), path, None)
    with pytest.raises(DataError, match="at least one row"):
        source.read(path)
    sink.write(pa.table({}), path, None)
    with pytest.raises(DataError, match="at least one column"):
        source.read(path)


def test_doubled_names(tmp_path: Path) -> None:
    twice = pa.table([[1], [2]], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "a.parquet")
    with pytest.raises(SchemaError, match="duplicates: 'a'"):
        Parquet().read(tmp_path / "a.parquet")
    ArrowSink().write(twice, tmp_path / "a.arrow", None)
    with pytest.raises(SchemaError, match="duplicates: 'a'"):
        Arrow().read(tmp_path / "a.arrow")


@pytest.mark.parametrize("source", [Parquet(), Arrow()])
def test_no_file_and_folder(tmp_path: Path, source: Any) -> None:
    with pytest.raises(DataError, match="no such file"):
        source.read(tmp_path / "none")
    with pytest.raises(DataError, match="got a folder"):
        source.read(tmp_path)


def test_no_file_and_folder_in_batches(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        Parquet().open(tmp_path / "none")
    with pytest.raises(DataError, match="got a folder"):
        Parquet().open(tmp_path)


def test_types_that_parquet_has_not(tmp_path: Path) -> None:
    odd = pa.table({"x": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(DataError, match="month_day_nano_interval"):
        ParquetSink().write(odd, tmp_path / "a.parquet", None)
