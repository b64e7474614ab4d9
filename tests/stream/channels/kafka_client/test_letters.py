"""A letter can always be sent, whatever the record holds."""

from __future__ import annotations

import json

import pytest

from shoal.stream.channels._kafka_link import letter_of
from shoal.types.stream import Letter


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        (b"x" * 500_000, "payload"),
        (b"x" * 500_001, "payload_left_out"),
        (b"\x00" * 400_000, "payload_left_out"),
        (b"\xff" * 500_000, "payload_base64"),
        (b"", "payload"),
    ],
)
def test_no_letter_is_larger_than_a_message(payload: bytes, field: str) -> None:
    line = letter_of(0, Letter(3, 5, "it is bad.", payload))
    assert len(line) < 1_000_000
    assert field in json.loads(line)
