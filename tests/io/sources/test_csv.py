"""Text files come in cell by cell as they are written."""

from __future__ import annotations

import codecs
import gzip
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from shoal.io.sinks.csv import Csv as Sink
from shoal.io.sources.csv import Csv
from shoal.types import Dialect


def read(folder: Path, raw: bytes, name: str = "a.csv", **options: object) -> tuple[dict[str, list[str]], Dialect]:
    path = folder / name
    path.write_bytes(raw)
    table, dialect = Csv(**options).read(path)  # type: ignore[arg-type]
    assert dialect is not None
    assert set(table.schema.types) == {pa.string()}
    return table.to_pydict(), dialect


def test_cells_stay_as_they_are(tmp_path: Path) -> None:
    got, _ = read(tmp_path, b"id,x,y\n007,1.50, a \nNA,+1e5,nan\ntrue,2020-01-01,null\n", missing=("NA",))
    assert got == {
        "id": ["007", "NA", "true"],
        "x": ["1.50", "+1e5", "2020-01-01"],
        "y": [" a ", "nan", "null"],
    }


def test_empty_is_null_and_quoted_empty_is_not(tmp_path: Path) -> None:
    assert read(tmp_path, b'a,b\n,""\n"",\n')[0] == {"a": [None, ""], "b": ["", None]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(tmp_path: Path, end: str, last: bool) -> None:
    raw = end.join(["a,b", "1,2", "", "3,4"]) + end * last
    got, dialect = read(tmp_path, raw.encode())
    assert got == {"a": ["1", "3"], "b": ["2", "4"]}
    assert dialect.newline == ("\r\n" if end == "\r\n" else "\n")


def test_quotes(tmp_path: Path) -> None:
    raw = b'"a ""x""",b\n"1\r\n2","say ""hi"", you"\n5\'11",6\n'
    assert read(tmp_path, raw)[0] == {'a "x"': ["1\r\n2", "5'11\""], "b": ['say "hi", you', "6"]}


def test_other_quote(tmp_path: Path) -> None:
    got, dialect = read(tmp_path, b"a,b\n'x,y',\"z\n", quote="'")
    assert got == {"a": ["x,y"], "b": ['"z']}
    assert dialect.quote == "'"


def test_blank_lines_before_the_header_and_between_rows(tmp_path: Path) -> None:
    assert read(tmp_path, b"\n\r\na,b\n\n1,2\n\n\n")[0] == {"a": ["1"], "b": ["2"]}


def test_one_column_keeps_blank_lines(tmp_path: Path) -> None:
    got, _ = read(tmp_path, b'a\n\nx\n\n""\n\n')
    assert got == {"a": [None, "x", None, "", None]}


def test_one_column_with_commas(tmp_path: Path) -> None:
    got, dialect = read(tmp_path, b"remark\nwell, well\nno\n")
    assert got == {"remark": ["well, well", "no"]}
    assert dialect.delimiter == ","


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-32", "utf-32"),
    ],
)
def test_byte_order_mark_decides(tmp_path: Path, encoding: str, written: str) -> None:
    got, dialect = read(tmp_path, "ça,b\n1,ü\n".encode(encoding))
    assert got == {"ça": ["1"], "b": ["ü"]}
    assert dialect.encoding == written


def test_utf_16_big_endian(tmp_path: Path) -> None:
    raw = codecs.BOM_UTF16_BE + "ça,b\n1,ü\n".encode("utf-16-be")
    assert read(tmp_path, raw) == read(tmp_path, raw, encoding="utf-16-be")
    assert read(tmp_path, raw)[1].encoding == "utf-16"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "cp037"])
def test_encoding_on_request(tmp_path: Path, encoding: str) -> None:
    got, dialect = read(tmp_path, "ça;b\n1;ü\n".encode(encoding), encoding=encoding)
    assert got == {"ça": ["1"], "b": ["ü"]}
    assert codecs.lookup(dialect.encoding) == codecs.lookup(encoding)


def test_byte_order_mark_with_utf_8_on_request(tmp_path: Path) -> None:
    got, dialect = read(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n", encoding="utf-8")
    assert list(got) == ["a", "b"]
    assert dialect.encoding == "utf-8-sig"


def test_nul_in_a_cell(tmp_path: Path) -> None:
    assert read(tmp_path, b"a,b\n1\x002,\x00\n")[0] == {"a": ["1\x002"], "b": ["\x00"]}


def test_gzip(tmp_path: Path) -> None:
    got, dialect = read(tmp_path, gzip.compress(b"a\tb\n1\t2\n"), "a.tsv.gz")
    assert got == {"a": ["1"], "b": ["2"]}
    assert dialect.delimiter == "\t"


@pytest.mark.parametrize("quoted", [False, True])
def test_a_row_larger_than_the_block(tmp_path: Path, quoted: bool) -> None:
    huge = "x" * (9 << 20)
    cell = f'"{huge},\n"' if quoted else huge
    got, _ = read(tmp_path, f"a,b\n1,2\n3,{cell}\n5,6\n".encode())
    assert got["a"] == ["1", "3", "5"]
    assert len(got["b"][1]) == len(cell) - 2 * quoted


ENDING = """
import sys, threading, time
from pathlib import Path
from pyarrow import csv
from shoal import DataError
from shoal.io.sources import _text_rows as _rows
from shoal.io.sources.csv import Csv

_rows._BLOCK, _rows._ROWS_IN_BLOCK = 256, 1
made, threads = csv.ParseOptions, set()

def slowly(invalid_row_handler=None, **options):
    def handler(row):
        threads.add(threading.current_thread() is threading.main_thread())
        time.sleep(0.01)
        return invalid_row_handler(row)
    return made(invalid_row_handler=invalid_row_handler and handler, **options)

csv.ParseOptions = slowly
try:
    Csv(delimiter=",").read(Path(sys.argv[1]))
except DataError as error:
    print(threads, error)
    sys.exit(3)
"""


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (b"1,2\n", "{True} a.csv: 80 rows do not have the header's 2 columns: rows 3, 6, 9, "),
        (b"1,\xff\n", "set() a.csv: line 243 is not valid utf-8."),  # said while others are still at work
    ],
)
def test_a_failed_read_calls_nothing_while_the_program_ends(tmp_path: Path, last: bytes, said: str) -> None:
    """Threads of Arrow that were still calling Python aborted the program: SIGABRT."""
    ragged = b"1,2\n1,2\n1,2,3\n" * 40
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n" + ragged + b"x" * 9000 + b",2\n" + ragged + last)
    ran = subprocess.run([sys.executable, "-c", ENDING, path], capture_output=True, text=True, check=False)
    assert ran.returncode == 3, ran.stderr
    assert ran.stdout.startswith(said)


def test_many_blocks(tmp_path: Path) -> None:
    rows = [f'{i},"{i};\n"' if i % 1000 == 0 else f"{i},{i:060}" for i in range(200_000)]
    got, _ = read(tmp_path, "\n".join(["a,b", *rows]).encode())
    assert got["a"] == list(map(str, range(200_000)))
    assert got["b"][5000] == "5000;\n"


def test_ten_thousand_columns(tmp_path: Path) -> None:
    names = [f"column {i}" for i in range(10_000)]
    raw = "\n".join([";".join(names), *[";".join(map(str, range(10_000)))] * 3])
    got, dialect = read(tmp_path, raw.encode())
    assert list(got) == names
    assert dialect.delimiter == ";"
    assert got["column 9999"] == ["9999"] * 3


@pytest.mark.parametrize(
    "raw",
    [
        b"id,x\n007,1.50\n,\n",
        b'id;x\r\n007;1,50\r\n"a;b";""\r\n',
        b"id\n\n007\n\n",
        b'id|x y\n 1|"say ""hi"""\n2|"two\nlines"\n',
        "\ufeffid\tç\n1\té\n".encode(),
        "id,ç\n1,é\n".encode("utf-16"),
    ],
)
def test_what_is_read_and_written_is_the_same_to_the_byte(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(raw)
    table, dialect = Csv().read(path)
    Sink().write(table, tmp_path / "b.csv", dialect)
    assert (tmp_path / "b.csv").read_bytes() == raw


def test_of_a_dialect_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("a;b\r\n1,5;é\r\n".encode("cp1252"))
    source = Csv(encoding="cp1252", decimal=",", missing=("NA",))
    table, dialect = source.read(path)
    again, same = Csv.of(dialect).read(path)
    assert again.equals(table)
    assert same == dialect == Dialect(";", '"', "cp1252", ",", "\r\n", ("NA",))
