"""Records do not depend on how the text is cut into pieces, and none is held whole that is too long."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.stream.channels._file_input import Lines

oracle = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "lines.py"))["lines"]
pieces = st.lists(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b'"', b",", b"bc"]), max_size=8).map(b"".join), max_size=8
)


@pytest.mark.parametrize("quote", [None, b'"'])
@settings(max_examples=400)
@given(cut=pieces, longest=st.integers(1, 9), mark=st.booleans())
@example(cut=[b'a"b\n', b'c"d\n', b"e"], longest=99, mark=False)
@example(cut=[b"abcdefghi", b"jklmn\r", b"\nab\n"], longest=3, mark=True)
def test_records_equal_the_oracle(quote: bytes | None, cut: list[bytes], longest: int, mark: bool) -> None:
    if mark:
        cut = [b"\xef\xbb\xbf" + b"".join(cut[:1]), *cut[1:]]
    lines = Lines(0, longest, quote)
    records, places = [], []
    for piece in cut:
        more, where = lines.take(piece)
        records += more
        places += where
    more, where = lines.end()
    assert (records + more, places + where) == oracle(b"".join(cut), longest, quote)


@pytest.mark.parametrize("quote", [None, b'"'])
def test_what_is_too_long_is_not_held(quote: bytes | None) -> None:
    lines = Lines(0, 1000, quote)
    for _ in range(1000):
        assert lines.take(b"x" * 10_000) == ([], [])
        assert len(lines._rest) < 12_000
    assert lines.take(b"\nnext\n") == ([b"x" * 1001, b"next"], [0, 10_000_001])
