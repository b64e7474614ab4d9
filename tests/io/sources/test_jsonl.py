"""JSON Lines, as streams leave them, are tables: they can be audited, compared and protected."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.errors import DataError
from shoal.io.sources.jsonl import Jsonl

LINES = b"""{"age": 30.5, "pay": 1, "class": 0}
{"age": 30.5, "class": 0}\r

{"class": 1, "age": 7, "pay": null}
{"age": 7, "class": 1}"""


def test_fields_are_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + LINES)
    table, dialect = Jsonl().read(tmp_path / "a.jsonl")
    assert dialect is None
    assert table.to_pydict() == {"age": [30.5, 30.5, 7.0, 7.0], "pay": [1, None, None, None], "class": [0, 0, 1, 1]}


def test_what_left_is_audited(tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_bytes(LINES)
    for required, holds in ((2, True), (3, False)):
        found = shoal.audit_file(tmp_path / "a.ndjson", ["age"], require={"stream_k": [required, "class"]})
        assert found.holds is holds


def test_a_line_longer_than_a_block(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": 2, "b": "%s"}\n' % ("x" * 3_000_000))
    assert Jsonl().read(tmp_path / "a.jsonl")[0].num_rows == 2


@pytest.mark.parametrize(
    "text", ["", "\n\n", "31415926\n", '{"a": 31415926}\n{"a": "x"}\n', '{"a": 31415926', "[31415926]"]
)
def test_what_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(DataError, match=r"^a\.jsonl: ") as caught:
        Jsonl().read(tmp_path / "a.jsonl")
    assert "31415926" not in str(caught.value)
