"""Files written in batches are those that are written at once."""

from __future__ import annotations

import datetime as dt
import errno
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal import registry
from shoal.errors import DataError, EngineError, ParameterError
from shoal.io.sinks import _folder
from shoal.io.sinks import parquet as sink
from shoal.io.sinks.csv import Csv
from shoal.io.sinks.parquet import Parquet
from shoal.types import Dialect
from shoal.types.released import released


def table(n: int = 25) -> pa.Table:
    return pa.table({"age": [float(i) for i in range(n)], "name": [None if i % 7 == 0 else f"p{i}" for i in range(n)]})


def write(path: Path, data: pa.Table, rows: int, **options: object) -> None:
    with Parquet().writer(path, data.schema, None, **options) as into:
        for batch in data.to_batches(max_chunksize=rows):
            into.write(pa.Table.from_batches([batch]))


class TestParquet:
    @pytest.mark.parametrize("rows", [1, 3, 10, 25])
    def test_bytes_do_not_depend_on_batches(self, tmp_path: Path, rows: int) -> None:
        Parquet().write(table(), tmp_path / "one.parquet", None)
        write(tmp_path / "two.parquet", table(), rows)
        assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()

    @pytest.mark.parametrize("rows", [1, 3, 10, 25])
    def test_row_groups_have_a_fixed_number_of_rows(
        self, tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sink, "_ROWS", 10)
        write(tmp_path / "a.parquet", table(), rows)
        found = parquet.ParquetFile(tmp_path / "a.parquet")
        assert [found.metadata.row_group(i).num_rows for i in range(found.num_row_groups)] == [10, 10, 5]
        assert found.read().equals(table())
        monkeypatch.setattr(sink, "_CELLS", 8)
        write(tmp_path / "a.parquet", table(), rows)
        assert parquet.ParquetFile(tmp_path / "a.parquet").num_row_groups == 7

    @pytest.mark.parametrize(("text", "groups"), [(True, 5), (False, 3)])
    def test_row_groups_with_text_have_fewer_rows(
        self, text: bool, groups: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sink, "_ROWS", 10)
        monkeypatch.setattr(sink, "_ROWS_OF_TEXT", 5)
        write(tmp_path / "a.parquet", table() if text else table().select(["age"]), 4)
        assert parquet.ParquetFile(tmp_path / "a.parquet").num_row_groups == groups

    def test_no_metadata_and_no_unused_category_is_released(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sink, "_ROWS", 2)
        sex = pa.DictionaryArray.from_arrays(pa.array([2, 2, 0, 2, 0], pa.int8()), ["m", "other", "f"])
        noted = pa.field("sex", sex.type, metadata={"note": "two are other"})
        data = pa.table([sex], schema=pa.schema([noted], metadata={"clinic": "x"}))
        write(tmp_path / "a.parquet", data, 3)
        found = parquet.ParquetFile(tmp_path / "a.parquet")
        assert set(found.metadata.metadata) == {b"ARROW:schema"}
        assert found.schema_arrow.field("sex").metadata is None
        lists = [found.read_row_group(i)["sex"].chunk(0).dictionary.to_pylist() for i in range(3)]
        assert lists == [["f"], ["f", "m"], ["m"]]
        assert found.read()["sex"].to_pylist() == data["sex"].to_pylist()
        assert b"other" not in (tmp_path / "a.parquet").read_bytes()

    def test_ordered_categories_keep_their_order(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sink, "_ROWS", 2)
        size = pa.DictionaryArray.from_arrays(pa.array([3, 0, 1], pa.int8()), ["S", "M", "?", "L"], ordered=True)
        fresh = partial(released, unchanged=(), whole={"size": ["S", "M", "L"]})
        write(tmp_path / "a.parquet", pa.table({"size": size}), 1, fresh=fresh)
        found = parquet.read_table(tmp_path / "a.parquet")["size"].unify_dictionaries()
        assert found.chunk(0).dictionary.to_pylist() == ["S", "M", "L"]
        assert found.to_pylist() == ["L", "S", "M"]

    def test_a_type_that_it_lacks_is_refused(self, tmp_path: Path) -> None:
        kind = pa.month_day_nano_interval()
        with pytest.raises(DataError, match="must be of types that Parquet has"):
            write(tmp_path / "a.parquet", pa.table({"x": pa.array([None], kind)}), 1)

    def test_an_error_in_the_block_is_passed_on(self, tmp_path: Path) -> None:
        with pytest.raises(pa.ArrowInvalid), Parquet().writer(tmp_path / "a.parquet", table().schema, None):
            pa.array(["x"]).cast(pa.int64())

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_is_a_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sink, "_ROWS", 1_000)
        with pytest.raises(EngineError, match="the disk or the quota is full") as caught:
            write(Path("/dev/full"), table(20_000), 700)
        assert caught.value.exit_code == 5

    def test_so_is_a_quota(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")

        monkeypatch.setattr(sink.parquet.ParquetWriter, "write_table", full)
        with pytest.raises(EngineError, match="the disk or the quota is full"):
            write(tmp_path / "a.parquet", table(), 5)


ODD = ["", None, "a", 'a"b', "a;b", "a\nb", "é", " ", '"', "\r"]


class TestCsv:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    @pytest.mark.parametrize("rows", [1, 3, 40])
    def test_bytes_are_those_of_the_whole_table(self, tmp_path: Path, rows: int, encoding: str) -> None:
        dialect = Dialect(";", encoding=encoding, decimal=",", newline="\r\n")
        days = pa.array([dt.datetime(2024, 1, 1 + i % 28, i % 24, 0, 0, i * 1000 % 7) for i in range(40)])
        data = pa.table({"x": [i / 3 * 10 ** (i % 19) for i in range(40)], "odd": ODD * 4, "day": days})
        data = data.append_column("sex", data["odd"].dictionary_encode())
        Csv().write(data, tmp_path / "one.csv", dialect)
        with Csv().writer(tmp_path / "two.csv", data.schema, dialect) as into:
            for batch in data.to_batches(max_chunksize=rows):
                into.write(pa.Table.from_batches([batch]))
        assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()

    def test_without_a_dialect_the_name_decides(self, tmp_path: Path) -> None:
        with Csv().writer(tmp_path / "a.tsv", table().schema, None) as into:
            into.write(table(2))
        assert (tmp_path / "a.tsv").read_text() == "age\tname\n0\t\n1\tp1\n"

    def test_characters_that_the_encoding_lacks_are_refused(self, tmp_path: Path) -> None:
        data = pa.table({"name": ["Ł"]})
        with (
            Csv().writer(tmp_path / "a.csv", data.schema, Dialect(encoding="cp1252")) as into,
            pytest.raises(DataError, match="cp1252 lacks some characters of columns 'name'"),
        ):
            into.write(data)

    def test_lists_are_refused_before_anything_is_written(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="column 'x' must hold numbers, text"):
            Csv().writer(tmp_path / "a.csv", pa.schema([("x", pa.list_(pa.int64()))]), None).__enter__()

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_is_a_sentence(self) -> None:
        with (
            pytest.raises(EngineError, match="the disk or the quota is full"),
            Csv().writer(Path("/dev/full"), table().schema, None) as into,
        ):
            into.write(table(20_000))


@pytest.mark.parametrize("rows", [1, 7, 10, 25])
def test_a_folder_has_parts_of_a_fixed_number_of_rows(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_folder, "PART_ROWS", 10)
    data = table()
    with _folder.parts_writer(Parquet(), tmp_path, ".parquet", data.schema, None) as into:
        for batch in data.to_batches(max_chunksize=rows):
            into.write(pa.Table.from_batches([batch]))
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in into.files]
    parts = [parquet.read_table(path) for path in into.files]
    assert [part.num_rows for part in parts] == [10, 10, 5]
    assert pa.concat_tables(parts).equals(data)


@pytest.mark.parametrize("name", ["a.arrow", "a.xlsx", "a.dta"])
def test_other_formats_are_refused(name: str) -> None:
    made = registry.for_file("io.sinks", Path(name))()
    assert not made.batched
    with pytest.raises(ParameterError, match=f"{name}: this format can only be written from memory"):
        made.writer(Path(name), pa.schema([]), None)
