"""Written cells read back the same, whatever they hold."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError, EngineError, ParameterError
from shoal.io.sinks.csv import Csv as Sink
from shoal.io.sources.csv import Csv
from shoal.types import Dialect

SECRET = "s3cr3t"
STRUCTURAL = st.sampled_from(["", " ", ",", ";", "\t", "|", '"', "'", "\r", "\n", "\r\n", '""', "\0", "\ufeff", "x"])
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
ASCII = st.text(st.characters(max_codepoint=127), max_size=6)
DIALECTS = st.builds(
    Dialect,
    delimiter=st.sampled_from([",", ";", "\t", "|", " ", "\x1f"]),
    quote=st.sampled_from(['"', "'"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)


def tables(cells: st.SearchStrategy[str]) -> st.SearchStrategy[pa.Table]:
    cell = st.none() | STRUCTURAL | st.lists(STRUCTURAL | cells, max_size=4).map("".join)
    names = (STRUCTURAL | cells).filter(lambda name: name.strip() and "\0" not in name)
    columns = st.lists(names, min_size=1, max_size=4, unique=True)
    return columns.flatmap(
        lambda names: st.lists(st.tuples(*[cell] * len(names)), min_size=1, max_size=8).map(
            lambda rows: pa.table([pa.array(c, pa.string()) for c in zip(*rows, strict=True)], names=names)
        )
    )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def round_trip(folder: Path, table: pa.Table, dialect: Dialect) -> None:
    path = folder / "a.csv"
    Sink().write(table, path, dialect)
    got, found = Csv.of(dialect).read(path)
    assert got.to_pydict() == table.to_pydict()
    assert got.column_names == table.column_names
    assert found == dialect
    Sink().write(got, folder / "b.csv", found)
    assert (folder / "b.csv").read_bytes() == path.read_bytes()


@given(tables(ANY_TEXT), DIALECTS, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
@settings(max_examples=4 * settings.default.max_examples, deadline=None)
def test_round_trip_of_any_text(folder: Path, table: pa.Table, dialect: Dialect, encoding: str) -> None:
    round_trip(folder, table, Dialect(dialect.delimiter, dialect.quote, encoding, ".", dialect.newline))


@given(
    tables(ASCII).filter(lambda t: "\ufeff" not in str(t.to_pydict()) and "\\ufeff" not in str(t.to_pydict())),
    DIALECTS,
)
@settings(max_examples=4 * settings.default.max_examples, deadline=None)
@pytest.mark.parametrize("encoding", ["iso8859-1", "cp1252", "utf-16-le", "cp037"])
def test_round_trip_in_encodings(folder: Path, encoding: str, table: pa.Table, dialect: Dialect) -> None:
    round_trip(folder, table, Dialect(dialect.delimiter, dialect.quote, encoding, ".", dialect.newline))


@given(tables(ANY_TEXT), st.data())
@settings(max_examples=100, deadline=None)
def test_slices_and_chunks_do_not_matter(folder: Path, table: pa.Table, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, table.num_rows))
    chunked = pa.concat_tables([table.slice(cut), table.slice(0, cut), table]).slice(1)
    Sink().write(chunked, folder / "a.csv", None)
    Sink().write(pa.table(chunked.to_pydict(), schema=table.schema), folder / "b.csv", None)
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


def written(folder: Path, table: pa.Table, dialect: Dialect | None = None, name: str = "a.csv") -> str:
    Sink().write(table, folder / name, dialect)
    return (folder / name).read_bytes().decode()


def test_only_what_needs_quotes_gets_them(folder: Path) -> None:
    cells = ["a b", " a ", "a;b", "a,b", 'say "x"', "two\nlines", "", None, "'", "007"]
    table = pa.table({"x, y": cells, "z": ["1"] * len(cells)})
    assert written(folder, table).split(",1\n") == [
        '"x, y",z\na b',
        " a ",
        "a;b",
        '"a,b"',
        '"say ""x"""',
        '"two\nlines"',
        '""',
        "",
        "'",
        "007",
        "",
    ]


def test_one_column_of_nulls(folder: Path) -> None:
    assert written(folder, pa.table({"a": pa.array([None, "", None, "x"], pa.string())})) == 'a\n\n""\n\nx\n'


def test_the_name_chooses_tabs(folder: Path) -> None:
    assert written(folder, pa.table({"a": [1], "b": [2]}), name="a.tsv") == "a\tb\n1\t2\n"


def test_other_encoding(folder: Path) -> None:
    Sink().write(pa.table({"ç": ["é€"]}), folder / "a.csv", Dialect(encoding="cp1252", newline="\r\n"))
    assert (folder / "a.csv").read_bytes() == b"\xe7\r\n\xe9\x80\r\n"


def test_characters_that_the_encoding_lacks(folder: Path) -> None:
    table = pa.table({"a": ["x", "y", None], "name": [f"{SECRET}ł", "ł", "z"], "β": ["1", "2", "3"]})
    with pytest.raises(DataError) as caught:
        Sink().write(table, folder / "a.csv", Dialect(encoding="latin-1"))
    message = str(caught.value)
    assert "columns 'name' (2 cells) and of the names of columns 'β'" in message
    assert SECRET not in message
    assert "ł" not in message


def test_unknown_encoding(folder: Path) -> None:
    with pytest.raises(ParameterError, match="encoding must be"):
        Sink().write(pa.table({"a": [1]}), folder / "a.csv", Dialect(encoding="nonsense"))


def test_a_folder_that_is_not_there(folder: Path) -> None:
    with pytest.raises(EngineError, match=r"could not be written \(there is no folder"):
        Sink().write(pa.table({"a": [1]}), folder / "none" / "a.csv", None)


def test_many_batches(folder: Path) -> None:
    n = 300_000
    table = pa.table({"a": list(map(str, range(n))), "b": ["x,y" if i % 7 == 0 else "z" for i in range(n)]})
    Sink().write(table, folder / "a.csv", None)
    assert Csv().read(folder / "a.csv")[0].to_pydict() == table.to_pydict()


def test_pieces_are_split_where_texts_are_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.io.sinks.csv._BYTES", 64)
    table = pa.table({"a": ["x" * i for i in range(1, 40)], "b": [None] * 39}).cast(
        pa.schema([("a", pa.string()), ("b", pa.string())])
    )
    Sink().write(table, folder / "a.csv", None)
    assert Csv().read(folder / "a.csv")[0].to_pydict() == table.to_pydict()


def test_many_small_chunks_and_columns(folder: Path) -> None:
    table = pa.concat_tables([pa.table({f"c{i}": ["1", None] for i in range(300)}) for _ in range(50)])
    Sink().write(table, folder / "a.csv", None)
    assert Csv().read(folder / "a.csv")[0].to_pydict() == table.to_pydict()
