"""Encodings of files that are not UTF-8, and blanks in headers."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import SchemaError
from shoal.io.sources._encoding import guess_encoding
from shoal.io.sources.csv import Csv

TEXT = "Straße;Größe;Café\n" + "Müller;1,5;Élysée\nKöln;2,5;garçon\n" * 50


@pytest.mark.parametrize(
    ("encoding", "guess"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-16", None),  # it has a byte order mark
        ("cp1252", "cp1252"),
        ("latin-1", "cp1252"),  # the same letters
        ("cp850", "cp850"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_encoding_is_guessed(tmp_path: Path, encoding: str, guess: str | None, packed: bool) -> None:
    raw = TEXT.encode(encoding)
    path = tmp_path / ("a.csv.gz" if packed else "a.csv")
    path.write_bytes(gzip.compress(raw) if packed else raw)
    assert guess_encoding(path) == guess
    table, dialect = Csv(encoding=guess).read(path)
    assert table.column_names == ["Straße", "Größe", "Café"]
    assert table["Café"][0].as_py() == "Élysée"
    assert dialect is not None
    assert dialect.delimiter == ";"


def test_bytes_that_windows_does_not_define_are_read_anyway(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"name\nM\xfcller\nx\x81y\n")
    assert guess_encoding(tmp_path / "a.csv") in ("cp850", "iso8859-1")


def test_a_late_byte_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"name\n" + b"plain\n" * (1 << 21) + b"M\xfcller\n")
    assert guess_encoding(tmp_path / "a.csv") == "cp1252"


def test_blanks_around_names_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(codecs.BOM_UTF8 + ' age ;"\u00a0pay";sex\n1;2;f\n'.encode())
    source = Csv()
    table, dialect = source.read(tmp_path / "a.csv")
    batches = source.open(tmp_path / "a.csv")
    assert table.column_names == batches.arrow.names == ["age", "pay", "sex"]
    assert dialect is not None
    assert dialect.trimmed == batches.dialect.trimmed == ("age", "pay")
    assert dialect.notes == ("Blanks around the names of columns 'age', 'pay' were removed.",)
    assert next(iter(batches.read(["pay"], 5))).to_pylist() == [{"pay": "2"}]


def test_names_with_blanks_that_are_written_are_read_back(tmp_path: Path) -> None:
    frame = pa.table({" age ": [1, 2, 3, 4], "pay": [1.5, 2.5, 3.5, 4.5]})
    pq.write_table(frame, tmp_path / "in.parquet")
    recipe = {"quasi": [" age "], "k": 2}
    for engine in ("memory", "disk"):
        out, proof = tmp_path / f"{engine}.csv", tmp_path / f"{engine}.json"
        shoal.protect(tmp_path / "in.parquet", recipe, output=out, evidence=proof, engine=engine)
        assert out.read_text().startswith(" age ,pay\n")
        assert shoal.verify(proof, out).holds


@pytest.mark.parametrize("opened", [False, True])
def test_names_that_differ_in_blanks_only_are_refused(tmp_path: Path, opened: bool) -> None:
    (tmp_path / "a.csv").write_text("age;age ;sex\n1;2;f\n")
    with pytest.raises(SchemaError, match=r"unique without surrounding blanks.*'age'\. Rename"):
        Csv().open(tmp_path / "a.csv") if opened else Csv().read(tmp_path / "a.csv")


def test_duplicates_and_unnamed_columns_are_refused_as_before(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age;age;  \n1;2;f\n")
    with pytest.raises(SchemaError, match=r"column 3 is unnamed(.|\n)*duplicates: 'age'"):
        Csv().read(tmp_path / "a.csv")
