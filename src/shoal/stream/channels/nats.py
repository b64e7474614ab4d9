"""NATS JetStream: tuples from one stream to another, one class per message."""

from __future__ import annotations

import re
from contextlib import ExitStack

from shoal.errors import ParameterError
from shoal.stream.channels.nats_client.connection import INPUT, OUTPUT, SCHEME, Address, Connection
from shoal.stream.channels.nats_client.link import NatsLink
from shoal.stream.channels.nats_client.writer import Writer
from shoal.types.stream import Channel, Journey


class Nats(Channel):
    """NATS streams, written ``nats://HOST:PORT/STREAM``."""

    def open(self, journey: Journey) -> NatsLink:
        """Connect to both ends; refuse a journey whose promises differ from those it was started with."""
        source, target = _ends(journey)
        dead = None if journey.dead is None else _subject(journey.dead, target)
        with ExitStack() as opened:
            reading = Connection(source)
            opened.callback(reading.close)
            writing = Connection(target)
            opened.callback(writing.close)
            link = NatsLink(journey, reading, Writer(writing), dead)
            link.begin()
            link.closing = opened.pop_all()
        return link


def _ends(journey: Journey) -> tuple[Address, Address]:
    for end, name in ((journey.source, "input"), (journey.target, "output")):
        if end.partition("://")[0].lower() != SCHEME:
            raise ParameterError(
                f"Stream: with NATS the {name} must be nats://HOST:PORT/STREAM too, got something else. The output "
                "stream records what was released, so both ends must be NATS."
            )
    source, target = Address.read(journey.source, INPUT), Address.read(journey.target, OUTPUT)
    if journey.header:
        raise ParameterError(f"{source}: messages must hold JSON, got CSV, which needs a header. Use --format jsonl.")
    if journey.force:
        raise ParameterError(
            f"{target}: --force is not possible with NATS, because released records cannot be withdrawn. Name "
            "another subject with ?subject=."
        )
    if (source.servers, source.stream) == (target.servers, target.stream):
        raise ParameterError(f"{target}: the output must be another stream than the input. Name another.")
    return source, target


def _subject(dead: str, address: Address) -> str:
    """Return the subject of dead letters, within the output stream, so that they are stored with the classes."""
    if dead.partition("://")[0].lower() == SCHEME:
        other = Address.read(dead, OUTPUT)
        if (other.servers, other.stream) == (address.servers, address.stream):
            return other.options.get("subject", f"{address.subject}.dead")
    if re.fullmatch(r"[^\s.*>/:]+(\.[^\s.*>/:]+)*", dead) is None:
        raise ParameterError(
            f"{address}: with NATS rejected records must go to a subject of the output stream, got something else. "
            f"Write for example --dead {address.subject}.dead."
        )
    return dead
