"""The text beside an offset holds a cursor whole, and has room for the delays that it promises."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import EngineError, ParameterError
from shoal.stream.channels._kafka_transactions import USUAL_ROOM, Kept, checked_delay, fitting, pack, room_for, unpack
from shoal.types.stream import Cursor, Tally

counts = st.integers(0, 2**62)
numbers = st.floats(0, 1e300)
tallies = st.builds(Tally, counts, counts, counts, counts, counts, counts, numbers, numbers)
memories = st.dictionaries(
    st.text(max_size=9), st.lists(st.integers(-(2**40), 2**40) | numbers, max_size=5), max_size=3
)
cursors = st.builds(Cursor, counts, counts, st.binary(max_size=1500), tallies, memories)


@given(cursors, st.text("0123456789abcdef", min_size=64, max_size=64))
def test_a_cursor_comes_back_as_it_was(cursor: Cursor, fingerprint: str) -> None:
    text = pack(cursor, fingerprint)
    assert text.isascii()
    kept = unpack(text, cursor.place)
    bare = Cursor(cursor.position, cursor.place, cursor.done.rstrip(b"\0"), cursor.tally, cursor.memory)
    assert kept == Kept(bare, fingerprint)  # bits that are missing are 0


def _mark(seed: int) -> str:
    """A mark of as many promises as there may be."""
    return np.random.default_rng(seed).bytes(32 + 3 * 30).hex()


@given(st.integers(0, 30_000), st.integers(0, 2**32), tallies, counts)
def test_no_text_is_longer_than_was_said(delay: int, seed: int, tally: Tally, position: int) -> None:
    done = np.random.default_rng(seed).bytes(-(-delay // 8))  # nothing that can be compressed
    text = pack(Cursor(position, 2**62, done, tally), _mark(delay))
    assert len(text) <= room_for(delay)


def test_ten_thousand_tuples_fit_where_nothing_was_changed() -> None:
    checked_delay(10_000, USUAL_ROOM)
    checked_delay(20_000, USUAL_ROOM)


def test_a_delay_that_may_not_fit_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"delay must be at most 20,\d\d\d, .* got 30,000\. Lower the delay, or raise"
    ):
        checked_delay(30_000, USUAL_ROOM)
    fits = next(d for d in range(20_000, 21_000) if room_for(d + 1) >= USUAL_ROOM)
    with pytest.raises(ParameterError, match=f"at most {fits // 8 * 8:,},"):
        checked_delay(30_000, USUAL_ROOM)
    checked_delay(30_000, 8192)


def test_a_memory_that_does_not_fit_is_refused_without_its_values() -> None:
    memory = {"wage": np.random.default_rng(0).integers(0, 2**40, 700).tolist()}
    with pytest.raises(
        EngineError, match=r"fewer than the 4,096 characters .* requirements and learnt fields take [5-9],\d\d\d\."
    ) as e:
        fitting(Cursor(memory=memory), "f" * 64, USUAL_ROOM)
    assert str(memory["wage"][0]) not in str(e.value)
    assert fitting(Cursor(), "f" * 64, USUAL_ROOM)


def _made(head: object) -> str:
    return base64.b64encode(zlib.compress(json.dumps(head).encode() + b"\n")).decode()


@pytest.mark.parametrize(
    "text", ["", "x", "hällo", "AAAA", _made({}), _made([]), _made({"shoal": 2}), _made({"shoal": 1, "tally": []})]
)
def test_what_is_no_cursor_is_no_cursor(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack(text, 0)


@given(cursors, st.data())
def test_a_damaged_text_is_never_another_cursor(cursor: Cursor, data: st.DataObject) -> None:
    raw = bytearray(base64.b64decode(pack(cursor, "f")))
    where = data.draw(st.integers(2, len(raw) - 1))
    raw[where] ^= 1 << data.draw(st.integers(0, 7))
    try:
        kept = unpack(base64.b64encode(raw).decode(), cursor.place)
    except ValueError:
        return
    assert kept == unpack(pack(cursor, "f"), cursor.place)  # a bit that says nothing
