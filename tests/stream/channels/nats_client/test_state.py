"""States go into a message and come back as they were; classes go into messages whole."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.stream.channels._nats_messages import Runs, State, addressed, digests, packed
from shoal.types.stream import Cursor, Leaving, Letter, Tally

numbers = st.integers(0, 2**62)
plain = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=5),
    lambda inner: st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
tallies = st.builds(Tally, numbers, numbers, numbers, numbers, numbers, numbers, st.floats(0, 1e300), st.floats(0, 1))
cursors = st.builds(
    Cursor,
    numbers,
    numbers,
    st.binary(max_size=300) | st.binary(min_size=6000, max_size=6000),
    tallies,
    st.dictionaries(st.text(max_size=5), plain, max_size=3),
)
ascending = st.lists(numbers, unique=True, max_size=40).map(sorted).map(tuple)


@settings(max_examples=50)
@given(st.text(), st.text(), st.text(), st.dictionaries(st.text(), st.text(), max_size=3), cursors, ascending)
def test_a_state_comes_back_as_it_was(
    lane: str, fingerprint: str, step: str, parts: dict[str, str], cursor: Cursor, places: tuple[int, ...]
) -> None:
    state = State(lane, "2026", fingerprint, parts, step, cursor, Runs(places).first(len(places)))
    assert State.read(state.written()) == state


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused_without_being_shown(body: bytes) -> None:
    with pytest.raises(DataError, match=r"^State: must be a message that this version of shoal wrote, got another\.$"):
        State.read(body)


def test_another_form_is_refused() -> None:
    body = State("a", "", "", {}, "", Cursor()).written()
    with pytest.raises(DataError):
        State.read(body.replace(b'"shoal":1', b'"shoal":2'))


near = st.lists(st.integers(0, 60), unique=True, max_size=40).map(sorted)


@given(near, st.integers(0, 70), st.integers(0, 50), st.integers(0, 40))
def test_runs_are_a_queue_of_numbers(numbers: list[int], before: int, count: int, cut: int) -> None:
    queue, plain = Runs(numbers[:cut]), [number for number in numbers if number >= before]
    queue.extend(numbers[cut:])
    assert list(queue) == numbers
    assert queue == Runs(numbers)
    queue.drop_before(before)
    assert (list(queue), len(queue), bool(queue)) == (plain, len(plain), bool(plain))
    found = queue.first(count)
    assert list(Runs.of(found)) == plain[:count]
    assert all(a + n < b for (a, n), (b, _) in pairwise(found))
    if plain:
        assert (queue.head, queue.last, queue.popleft()) == (plain[0], plain[-1], plain[0])
        assert list(queue) == plain[1:]


@settings(max_examples=50)
@given(plain, plain)
def test_digests_differ_where_promises_do(one: object, other: object) -> None:
    same = digests({"a": one}) == digests({"a": other})
    assert same == (repr(one) == repr(other) or one == other)


lines = st.lists(st.text("ab", min_size=1, max_size=12).map(str.encode), min_size=1, max_size=8)


@given(st.lists(lines, max_size=12), st.integers(12, 60), st.integers(1, 6))
def test_messages_hold_all_tuples_in_order_and_classes_whole(
    bodies: list[list[bytes]], largest: int, most: int
) -> None:
    classes = [Leaving(number, tuples, range(len(tuples))) for number, tuples in enumerate(bodies)]
    found = packed(classes, "s", largest, most)
    assert [line for one in found for line in one.body.split(b"\n")] == [line for tuples in bodies for line in tuples]
    assert all(len(one.body) <= largest for one in found)
    whole = [one for one in found if "Shoal-Part" not in one.headers]
    for one in whole:
        first, count = int(one.headers["Shoal-Class"]), int(one.headers["Shoal-Classes"])
        assert one.body == b"\n".join(line for tuples in bodies[first : first + count] for line in tuples)
    for one in found:
        if "Shoal-Part" in one.headers:  # only a class that no message could hold
            assert one.headers["Shoal-Classes"] == "1"
            assert len(b"\n".join(bodies[int(one.headers["Shoal-Class"])])) > largest


@given(st.lists(st.binary(max_size=50) | st.none(), max_size=20), st.integers(1, 6))
def test_letters_are_all_there_and_too_large_a_payload_is_left_out(payloads: list[bytes | None], most: int) -> None:
    letters = [Letter(i, i + 1, "why", payload) for i, payload in enumerate(payloads)]
    found = [json.loads(line) for one in addressed(letters, "s", 100, most) for line in one.body.split(b"\n")]
    assert [one["position"] for one in found] == list(range(len(payloads)))
    for one, payload in zip(found, payloads, strict=True):
        held = one["payload"].encode() if "payload" in one else base64.b64decode(one.get("payload_base64", ""))
        assert held == (payload or b"") or len(payload or b"") > 20
