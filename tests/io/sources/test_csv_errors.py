"""Errors in a text file are sentences that hold no cell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import DataError, ParameterError, SchemaError, ShoalError
from shoal.io.sources.csv import Csv

SECRET = "s3cr3t"


def refuse(folder: Path, raw: bytes, kind: type[ShoalError], match: str, **options: Any) -> str:
    path = folder / "people.csv"
    path.write_bytes(raw)
    with pytest.raises(kind, match=match) as caught:
        Csv(**options).read(path)
    message = str(caught.value)
    assert SECRET not in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def test_ragged_rows_by_number(tmp_path: Path) -> None:
    rows = ["1,2,3,4,5"] * 40
    rows[6] = f"1,{SECRET}"
    rows[11] = f"1,2,3,4,5,{SECRET}"
    rows[39] = SECRET
    raw = "\n".join(["a,b,c,d,e", "", *rows]).encode()
    message = refuse(tmp_path, raw, DataError, "rows")
    assert message.startswith("people.csv: 3 rows do not have the header's 5 columns: rows 7, 12, 40. ")


def test_ragged_rows_in_later_blocks(tmp_path: Path) -> None:
    rows = [f"{i},{'x' * 60}" for i in range(200_000)]
    rows[150_000] = SECRET
    refuse(tmp_path, "\n".join(["a,b", *rows]).encode(), DataError, r"1 row does .* columns: row 150001\.")
    rows[3] = '"2,\n",3'
    refuse(tmp_path, "\n".join(["a,b", *rows]).encode(), DataError, r"1 row does .* columns: row 150001\.")


def test_many_ragged_rows_are_not_all_listed(tmp_path: Path) -> None:
    raw = b"a,b\n1,2\n" + f"{SECRET}\n".encode() * 1500
    refuse(tmp_path, raw, DataError, "1,500 rows do .* 10, 11 and 1,490 more")


@pytest.mark.parametrize(
    ("raw", "row"),
    [
        (f'a,b\n1,2\n3,"{SECRET}\n4,5\n', 2),
        (f'a,b\n1,2\n3,"{SECRET}', 2),
        (f'a,b\n1,2\n"{SECRET},3\n4,5\n', 2),
        ('a,b\n1,2\n3,"', 2),
        (f'a\n"x"\n"{SECRET}\ny', 2),
        (f'a,b\n1\n3,"{SECRET}""\n', 2),
        (f'a,b\n5\'11",2\n3,"{SECRET}\n', 2),
    ],
)
def test_a_quote_that_is_never_closed(tmp_path: Path, raw: str, row: int) -> None:
    refuse(tmp_path, raw.encode(), DataError, f"quote that opens in row {row} is never closed")


def test_an_open_quote_in_the_header(tmp_path: Path) -> None:
    refuse(tmp_path, b'a,"b\n1,2\n', DataError, "quotes in its header are closed")
    refuse(tmp_path, b'a,"b' + b"x" * 200_000, SchemaError, "quotes are closed")


@pytest.mark.parametrize("raw", [b"", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n\n"])
def test_empty_file(tmp_path: Path, raw: bytes) -> None:
    refuse(tmp_path, raw, DataError, "empty file")


@pytest.mark.parametrize("raw", [b"a,b", b"a,b\n", b"a,b\r\n\r\n\n", b"a", b"a\n"])
def test_header_only(tmp_path: Path, raw: bytes) -> None:
    refuse(tmp_path, raw, DataError, "at least one row")


def test_empty_and_doubled_names_are_said_at_once(tmp_path: Path) -> None:
    message = refuse(tmp_path, b'a,,b,a, ,b,""\n1,2,3,4,5,6,7\n', SchemaError, "names")
    assert "columns 2, 5, 7 are unnamed" in message
    assert "duplicates: 'a', 'b'" in message


def test_invalid_utf_8_by_line(tmp_path: Path) -> None:
    raw = b"a,b\n1,2\n3," + SECRET.encode() + b"\xff\xfe\n"
    message = refuse(tmp_path, raw, DataError, "line 3 is not valid utf-8.*--encoding")
    assert "ff" not in message.replace("different", "")
    refuse(tmp_path, b"a,b\xff\n1,2\n", DataError, "line 1 ")
    refuse(tmp_path, b'"a\n\xff",b\n1,2\n', DataError, "line 2 ")
    refuse(tmp_path, b"a,b\r\n1,2\r3,\xff\r\n", DataError, "line 3 ")


def test_invalid_in_another_encoding(tmp_path: Path) -> None:
    refuse(tmp_path, b"a,b\n1,\x81\n", DataError, "line 2 is not valid cp1252", encoding="cp1252")
    refuse(tmp_path, "a,b\n1,2\n".encode("utf-16")[:-1], DataError, "line 2 is not valid utf-16")


def test_utf_16_without_mark(tmp_path: Path) -> None:
    refuse(tmp_path, "a,b\n1,2\n".encode("utf-16-le"), DataError, "NUL.*--encoding")


def test_damaged_gzip(tmp_path: Path) -> None:
    refuse(tmp_path, b"\x1f\x8b" + b"x" * 30, DataError, "damaged")


def test_wrong_delimiter(tmp_path: Path) -> None:
    refuse(tmp_path, f"a,b\n{SECRET};1,2\n".encode(), DataError, "header's 1 column:", delimiter=";")


def test_no_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv: there is no such file"):
        Csv().read(tmp_path / "none.csv")
    with pytest.raises(DataError, match="got a folder"):
        Csv().read(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="no such file"):
        Csv().read(tmp_path / "file" / "a.csv")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,2\n")

    def refused(self: Path) -> bytes:
        raise PermissionError(13, "no", str(self))

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(DataError, match="may not be read"):
        Csv().read(path)


def test_a_disk_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Path) -> bytes:
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(Path, "read_bytes", broken)
    with pytest.raises(DataError, match="could not be read"):
        Csv().read(Path("a.csv"))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"delimiter": ""}, "delimiter must be one ASCII"),
        ({"delimiter": "::"}, "delimiter must be one ASCII"),
        ({"delimiter": "§"}, "delimiter must be one ASCII"),
        ({"delimiter": "\n"}, "delimiter must be one ASCII"),
        ({"quote": ""}, "quote must be one ASCII"),
        ({"quote": "''"}, "quote must be one ASCII"),
        ({"decimal": ""}, "decimal must be"),
        ({"decimal": "x"}, "decimal must be"),
        ({"delimiter": '"'}, "must differ"),
        ({"quote": "."}, "must differ"),
        ({"missing": [1]}, "missing must be a list of texts"),
        ({"datetime": "%s"}, "reads back what it writes"),
        ({"datetime": "%Y-%m"}, "reads back what it writes"),
        ({"datetime": "%Y-%m-%d%z"}, "reads back what it writes"),
        ({"encoding": "nonsense"}, "encoding must be"),
        ({"encoding": "rot13"}, "encoding must be"),
        ({"encoding": "hex"}, "encoding must be"),
        ({"encoding": "undefined"}, "encoding must be"),
        ({"missing": "NA"}, "missing must be"),
    ],
)
def test_wrong_parameters(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        Csv(**options)


def test_a_first_row_of_values_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,31415,?,31415\n1,2,3,4\n")
    with pytest.raises(SchemaError) as error:
        Csv().read(tmp_path / "a.csv")
    assert "those of columns 2, 4 are not, and look like values. Does the first row hold the names?" in str(error.value)
    assert "31415" not in str(error.value)
