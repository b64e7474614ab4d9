"""Records that are wrapped in something else: what wraps them, in a sentence."""

from __future__ import annotations

_GZIP = b"\x1f\x8b"
_HEAD = 5  # bytes of a schema registry's frame: 0, and the number of the schema in four
_FRAMES = {
    "gzip": "the record is compressed with gzip. Decompress it before the stream.",
    "registry": "the record begins with the frame of a Confluent Schema Registry (a zero byte and the schema's "
    "number), so it is Avro, Protobuf or framed JSON. Convert it to plain JSON before the stream.",
}


def framing(record: bytes) -> str | None:
    """Return what a record is wrapped in, as the reason for which it is rejected; None: nothing that is known.

    >>> framing(b"\\x00\\x00\\x00\\x00\\x07{}")[:44], framing(b"{}")
    ('the record begins with the frame of a Conflu', None)
    """
    if record.startswith(_GZIP):
        return _FRAMES["gzip"]
    return _FRAMES["registry"] if len(record) > _HEAD and record[0] == 0 else None
