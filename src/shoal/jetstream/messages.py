"""Messages as they are published, and as a consumer delivers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Message(NamedTuple):
    """What is published: a subject, headers and a body."""

    subject: str
    body: bytes
    headers: Mapping[str, str]


class Delivered(NamedTuple):
    """A message of the input."""

    place: int  #: its sequence number in the stream
    record: bytes


class Reply(NamedTuple):
    """What the subject says to which a message is acknowledged.

    >>> Reply.read("$JS.ACK.VISITS.shoal-1f.1.70.12.1700000000.3")
    Reply(consumer='shoal-1f', place=70, number=12, pending=3)
    """

    consumer: str
    place: int
    number: int  #: how many the consumer has delivered
    pending: int

    @classmethod
    def read(cls, reply: str) -> Reply:
        """Take it apart."""
        parts = reply.split(".")
        at = 3 if len(parts) == 9 else 5  # newer servers name the domain and the account too
        return cls(parts[at], int(parts[at + 2]), int(parts[at + 3]), int(parts[at + 5]))
