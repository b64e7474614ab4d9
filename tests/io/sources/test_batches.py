"""Tables read in batches are those that are read at once; a folder of files is one table."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.errors import DataError, ParameterError, SchemaError
from shoal.flow.stages.batches import Batches, can_be_batched, open_batches
from shoal.io.sources import _text_chunks, _text_rows
from shoal.io.sources.csv import Csv
from shoal.io.sources.parquet import Parquet
from shoal.locations import place
from shoal.recipe.recipe import Recipe
from shoal.types import Dialect
from shoal.types.statistical_files import Variable

RECIPE = Recipe(quasi=["age"], k=2)


LABELLED = Variable("spss", label="Age").onto(pa.field("age", pa.int64()))


def opened(path: Path, recipe: Recipe = RECIPE) -> Batches:
    return open_batches(place(path), recipe)


def everything(path: Path, rows: int, columns: list[str] | None = None) -> pa.Table:
    tables = list(opened(path).read(columns, rows))
    assert [table.num_rows for table in tables[:-1]] == [rows] * (len(tables) - 1)
    assert len({table.schema for table in tables}) == 1
    return pa.concat_tables(tables)


def people(n: int = 25) -> pa.Table:
    names = [None if i % 7 == 0 else f"p{i}" for i in range(n)]
    sizes = pa.DictionaryArray.from_arrays(
        pa.array([i % 3 for i in range(n)], pa.int8()), ["S", "M", "L"], ordered=True
    )
    label = Variable("spss", label="Age", labels=((1, "one"),)).onto(pa.field("age", pa.float64()))
    fields = [label, pa.field("name", pa.string_view()), pa.field("size", sizes.type), pa.field("a.b", pa.int64())]
    columns = [[float(i) for i in range(n)], pa.array(names, pa.string_view()), sizes, list(range(n))]
    return pa.table(columns, schema=pa.schema(fields, metadata={"note": "x"}))


def write(path: Path, table: pa.Table, **options: object) -> Path:
    parquet.write_table(table, path, **options)
    return path


@pytest.mark.parametrize(("cells", "rows"), [(1, 1 << 19), (60, 1 << 17), (5_000, 1 << 13)])
def test_batches_of_wide_tables_have_fewer_rows(cells: int, rows: int, tmp_path: Path) -> None:
    table = pa.table({"age": [1.0] * 40, "note": ["x" * 8 * (cells - 1)] * 40})
    parquet.write_table(table, tmp_path / "a.parquet")
    found = opened(tmp_path / "a.parquet")
    assert found.rows == rows
    assert sum(one.num_rows for one in found.read(["age"])) == 40


class TestParquet:
    @pytest.mark.parametrize("rows", [1, 4, 10, 25, 100])
    def test_is_what_is_read_at_once(self, tmp_path: Path, rows: int) -> None:
        path = write(tmp_path / "a.parquet", people(), row_group_size=7)
        whole, _ = Parquet().read(path)
        found = everything(path, rows)
        assert found.schema.equals(whole.schema, check_metadata=True)
        assert found.equals(whole)
        assert opened(path).records == 25

    def test_some_columns_in_another_order(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.parquet", people(), row_group_size=7)
        whole, _ = Parquet().read(path)
        assert everything(path, 4, ["a.b", "age"]).equals(whole.select(["a.b", "age"]))
        assert sum(table.num_rows for table in opened(path).read([], 4)) == 25

    def test_a_name_with_a_dot_is_no_path(self, tmp_path: Path) -> None:
        table = pa.table({"a": [1, 2], "a.b": [3, 4], "c": [{"d": 1}, {"d": 2}], "c.d": [5, 6]})
        path = write(tmp_path / "a.parquet", table)
        for names in (["a"], ["a.b"], ["c"], ["c.d", "a"]):
            assert everything(path, 1, names).equals(table.select(names))

    @pytest.mark.parametrize("content", [b"", b"PAR1", b"age\n1\n", b"PAR1" + b"\0" * 100 + b"PAR1"])
    def test_a_damaged_file_is_refused_as_in_memory(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "a.parquet"
        path.write_bytes(content)
        with pytest.raises(DataError) as one:
            Parquet().read(path)
        with pytest.raises(DataError) as other:
            opened(path)
        assert str(one.value) == str(other.value)

    def test_a_truncated_page_is_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a.parquet", pa.table({"age": list(range(10_000))}), compression="zstd")
        content = bytearray(path.read_bytes())
        content[4:60] = b"\xff" * 56
        path.write_bytes(content)
        with pytest.raises(DataError, match="damaged or truncated"):
            list(opened(path).read())

    @pytest.mark.parametrize(
        "table",
        [
            pa.table({"age": pa.array([], pa.int64())}),
            pa.table({}),
            pa.Table.from_arrays([[1], [2]], ["age", "age"]),
            pa.Table.from_arrays([[1], [2]], ["age", " "]),
        ],
    )
    def test_without_rows_or_proper_names_it_is_refused_as_in_memory(self, tmp_path: Path, table: pa.Table) -> None:
        path = write(tmp_path / "a.parquet", table)
        with pytest.raises((DataError, SchemaError)) as one:
            Parquet().read(path)
        with pytest.raises(type(one.value)) as other:
            opened(path)
        assert str(one.value) == str(other.value)

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="there is no such file"):
            opened(tmp_path / "none.parquet")


CELLS = st.sampled_from(
    [
        "",
        "1",
        "a",
        '""',
        '"a"',
        '"a,b"',
        '"a""b"',
        '"a\nb"',
        '"\r\n"',
        'x"y',
        '"x"y',
        '"x"y"z',
        "\ufeff",
        "é",
        " ",
        '""""',
    ]
)
ODD = st.sampled_from(['"', '"a', ",", "\r", "\n", "\r\n", "", "1,2,3", '"\n', '\n"', "\x00"])
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def files(draw: st.DrawFn) -> str:
    """A text file, often with something odd in it."""
    width = draw(st.integers(1, 3))
    end = draw(ENDS)
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=12))
    lines = [",".join(row) for row in rows]
    if draw(st.booleans()):
        lines.insert(draw(st.integers(0, len(lines))), draw(ODD))
    text = end.join([",".join("abc"[:width]), *lines])
    return text + draw(st.sampled_from(["", end, end * 2]))


def result(read: Callable[[], tuple[pa.Table, Any]]) -> tuple[Any, ...]:
    try:
        table, dialect = read()
    except (DataError, SchemaError) as error:
        return type(error), str(error)
    return table.schema, table.to_pydict(), dialect


def in_batches(path: Path, source: Csv, rows: int = 3) -> tuple[pa.Table, Any]:
    file = source.open(path)
    batches = Batches((path,), file.arrow, file.dialect, None, (file,))
    return pa.concat_tables(batches.read(rows=rows)), batches.dialect


class TestCsv:
    @settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(text=files(), chunk=st.integers(1, 40), encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
    def test_is_what_is_read_at_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, chunk: int, encoding: str
    ) -> None:
        path = tmp_path / "a.csv"
        path.write_bytes(text.encode(encoding, errors="replace"))
        source = Csv(encoding="cp1252" if encoding == "cp1252" else None)
        with monkeypatch.context() as patch:
            patch.setattr(_text_chunks, "CHUNK", chunk)
            found = result(lambda: in_batches(path, source))
        assert found == result(lambda: source.read(path))

    @settings(max_examples=300, deadline=None)
    @given(st.text('ab,"\n\r', max_size=40))
    def test_rows_end_where_arrow_says(self, text: str) -> None:
        end = _text_chunks.end_of_rows(text.encode(), ",", '"')
        assert end == _text_chunks._end_of_odd_rows(text.encode(), ",", b'"', len(text) - text.endswith("\r"))
        if end:
            assert text[end - 1] in "\r\n"
            parts = [text[:end], text[end:]]
            whole, *pieces = [
                _text_rows.Rows("a", part.encode(), 0, ["a"], "\x01", '"') for part in (text, *parts) if part
            ]
            tables = result(lambda: (whole.read(), None))
            if isinstance(tables[0], pa.Schema) and _text_chunks.end_of_rows(text.encode(), None, '"') == end:
                assert pa.concat_tables([piece.read() for piece in pieces]).to_pydict() == tables[1]

    def test_compressed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_text_chunks, "CHUNK", 16)
        path = tmp_path / "a.csv.gz"
        text = "age;pay\n" + "".join(f"{i};{i}\n" for i in range(99))
        path.write_bytes(gzip.compress(text[:300].encode()) + gzip.compress(text[300:].encode()))
        assert result(lambda: in_batches(path, Csv())) == result(lambda: Csv().read(path))
        path.write_bytes(gzip.compress(text.encode())[:-20])
        with pytest.raises(DataError, match=r"a\.csv\.gz: is compressed, and damaged or truncated"):
            in_batches(path, Csv())

    @pytest.mark.parametrize("raw", [b"a,b\n1,2\n\n3,\xff\n", "a,b\n1,2\r\n3,".encode("utf-16") + b"x"])
    def test_text_in_another_encoding_is_refused_with_its_line(
        self, tmp_path: Path, raw: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.csv"
        path.write_bytes(raw)
        for chunk in (3, 5, 1 << 20):
            monkeypatch.setattr(_text_chunks, "CHUNK", chunk)
            assert result(lambda: in_batches(path, Csv())) == result(lambda: Csv().read(path))

    def test_all_rows_of_another_width_are_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_text_chunks, "CHUNK", 64)
        path = tmp_path / "a.csv"
        path.write_text("a,b\n" + "".join("1\n" if i % 9 == 0 else "1,2\n\n" for i in range(300)))
        with pytest.raises(DataError, match=r"34 rows do not .* rows 1, 10, .* and 24 more") as caught:
            in_batches(path, Csv())
        assert result(lambda: Csv().read(path))[1] == str(caught.value)

    def test_an_unclosed_quote_does_not_fill_the_memory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_text_chunks, "CHUNK", 64)
        monkeypatch.setattr(_text_chunks, "LONGEST", 256)
        path = tmp_path / "a.csv"
        path.write_text("a,b\n1,2\n3,4\n" + '5,"6\n' + "7,8\n" * 1000)
        with pytest.raises(DataError, match=r"row 3 is longer than .* or a quote that opens in it is never closed"):
            in_batches(path, Csv())

    def test_a_long_header(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        names = [f"column number {i}" for i in range(9_000)]
        path.write_text(",".join(names) + "\n" + ",".join(["1"] * 9_000))
        assert in_batches(path, Csv())[0].column_names == names

    def test_some_columns(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text('a,b,c\n1,"x",3\n4,.,.\n')
        assert everything(path, 1, ["b", "a"]).to_pydict() == {"b": ["x", "."], "a": ["1", "4"]}

    def test_files_of_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("age;pay\n1;2,5\n")
        (tmp_path / "b.csv").write_bytes(b"\xef\xbb\xbfage;pay\n3;4\n")
        (tmp_path / "c.csv").write_text("age;pay\n")
        assert everything(tmp_path, 1).to_pydict() == {"age": ["1", "3"], "pay": ["2,5", "4"]}
        assert opened(tmp_path).records is None
        assert opened(tmp_path).dialect == Dialect(delimiter=";")
        (tmp_path / "d.csv").write_text("age,pay\n1,2\n")
        with pytest.raises(SchemaError, match=r"d\.csv: all files of a folder must have the same columns"):
            opened(tmp_path)


class TestFolder:
    def test_is_one_table_in_the_order_of_names(self, tmp_path: Path) -> None:
        whole = people().drop_columns(["name"])
        for name, start in (("b.parquet", 10), ("a.pq", 0), ("c.parquet", 20)):
            write(tmp_path / name, whole.slice(start, 10))
        write(tmp_path / "d.parquet", whole.slice(0, 0))
        (tmp_path / "_SUCCESS").write_text("{}")
        (tmp_path / ".hidden").write_text("x")
        assert [file.name for file in opened(tmp_path).files] == ["a.pq", "b.parquet", "c.parquet", "d.parquet"]
        assert opened(tmp_path).records == 25
        for rows in (3, 10, 100):
            assert everything(tmp_path, rows).equals(whole)
        assert can_be_batched(place(tmp_path))

    def test_of_other_contents_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="must hold files, got none"):
            opened(tmp_path)
        write(tmp_path / "a.parquet", people())
        (tmp_path / "b.csv").write_text("age\n1\n")
        with pytest.raises(DataError, match="must have the same format, got csv, parquet"):
            opened(tmp_path)
        (tmp_path / "b.csv").rename(tmp_path / "README")
        with pytest.raises(DataError, match=r"must be tables, got 'README'\. Move other files away"):
            opened(tmp_path)
        (tmp_path / "README").unlink()
        (tmp_path / "year=2024").mkdir()
        with pytest.raises(DataError, match="must not hold other folders, got 'year=2024'"):
            opened(tmp_path)

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            (pa.table({"age": [1]}), "the same columns; those of a.parquet are others, differing in 'pay'"),
            (pa.table({"pay": [1], "age": [1]}), "in another order"),
            (pa.table({"age": [1.0], "pay": [1]}), r"columns 'age' \(double instead of int64\) differ"),
            (
                pa.table(
                    [[1], [1]],
                    schema=pa.schema(
                        [Variable("spss", label="x").onto(pa.field("age", pa.int64())), ("pay", pa.int64())]
                    ),
                ),
                "the same labels and missing values as a.parquet; columns 'age' differ",
            ),
        ],
    )
    def test_with_other_columns_is_refused(self, tmp_path: Path, other: pa.Table, words: str) -> None:
        write(tmp_path / "a.parquet", pa.table({"age": [1], "pay": [2]}))
        write(tmp_path / "b.parquet", other)
        with pytest.raises(SchemaError, match=words):
            opened(tmp_path)

    def test_without_any_row_is_refused(self, tmp_path: Path) -> None:
        write(tmp_path / "a.parquet", people().slice(0, 0))
        write(tmp_path / "b.parquet", people().slice(0, 0))
        with pytest.raises(DataError, match="at least one row, got none"):
            opened(tmp_path)


def test_other_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.arrow").write_bytes(b"")
    with pytest.raises(ParameterError, match="can only be read into memory as a whole"):
        opened(tmp_path / "a.arrow")
    assert not can_be_batched(place(tmp_path / "a.arrow"))
    with pytest.raises(ParameterError, match="only files can be read in batches, got a database"):
        open_batches(place("sqlite:///a.db?table=b"), RECIPE)
