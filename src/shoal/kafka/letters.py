"""Dead letters as records of a topic: where the record is, why it is no tuple, and itself if that was asked for."""

from __future__ import annotations

import json

from shoal.types.stream import Letter

#: Longer payloads are left out: a record that cannot be sent would stop the stream.
_LONGEST = 500_000
#: So are those that grow longer than that when they are written as JSON: of one control character it makes six.
_LARGEST = 900_000


def letter_of(partition: int, letter: Letter) -> bytes:
    """Return a letter as JSON.

    >>> letter_of(0, Letter(position=3, place=5, reason="The record is no JSON object.")).decode()
    '{"partition":0,"position":3,"place":5,"reason":"The record is no JSON object."}'
    """
    told: dict[str, object] = {"partition": partition, **letter.told}
    if letter.payload is None:
        return _written(told)
    if len(letter.payload) > _LONGEST:
        return _written(told | {"payload_left_out": f"It has more than {_LONGEST:,} bytes."})
    whole = _written(told | letter.enclosed)
    return whole if len(whole) <= _LARGEST else _written(told | {"payload_left_out": "It grows too large as JSON."})


def _written(told: dict[str, object]) -> bytes:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
