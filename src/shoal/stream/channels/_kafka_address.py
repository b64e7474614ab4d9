"""Kafka topic URLs: ``kafka://HOST:PORT/TOPIC``, with options after the question mark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from shoal.errors import ParameterError
from shoal.parameters import unknown

_SERVER = re.compile(r"^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?$")
_TOPIC = re.compile(r"^[A-Za-z0-9._-]{1,249}$")
_EXAMPLE = "Write for example kafka://localhost:9092/visits"
#: Settings that shoal makes itself, and why: with other values a stream could lose or repeat tuples.
OWNED = frozenset(
    {
        "bootstrap.servers", "metadata.broker.list", "group.id", "group.instance.id", "group.protocol",
        "partition.assignment.strategy", "enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset",
        "isolation.level", "enable.partition.eof", "transactional.id", "enable.idempotence", "acks",
        "request.required.acks", "max.in.flight", "max.in.flight.requests.per.connection", "enable.gapless.guarantee",
        "log_level", "debug",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Address:
    """A topic and its connection settings."""

    servers: str
    topic: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return f"kafka://{self.servers}/{self.topic}"


def address(text: str, allowed: tuple[str, ...]) -> Address:
    """Parse the URL of a topic.

    >>> print(address("kafka://localhost:9092/visits?group=g", ("group",)))
    kafka://localhost:9092/visits
    """
    where, _, asked = text.partition("://")[2].partition("?")
    servers, _, topic = where.partition("/")
    if "@" in servers:
        raise ParameterError(
            f"Kafka: a URL must not hold a user or a password. {_EXAMPLE}?config=client.properties, and put the login "
            "into that file."
        )
    if not text.lower().startswith("kafka://") or not all(_SERVER.match(one) for one in servers.split(",")):
        raise ParameterError(f"Kafka: a URL must name host and port after kafka://. {_EXAMPLE}.")
    if not _TOPIC.match(unquote(topic)):
        raise ParameterError(
            f"kafka://{servers}: a topic must have 1 to 249 letters, digits, dots, hyphens and underscores. {_EXAMPLE}."
        )
    options = dict(parse_qsl(asked, keep_blank_values=True))
    here = Address(servers, unquote(topic), options)
    if strange := [name for name in options if name not in allowed]:
        raise ParameterError(unknown(str(here), "option", strange[0], allowed))
    return here


def chosen(here: Address, name: str, allowed: tuple[str, ...]) -> str | None:
    """Return an option with a fixed set of values, or None if it was not given."""
    given = here.options.get(name)
    if given is not None and given not in allowed:
        raise ParameterError(f"{here}: {name} must be {' or '.join(allowed)}, got {given!r}. Correct it.")
    return given


def seconds(here: Address, name: str, default: float) -> float:
    """Return an option that is a time in seconds."""
    text = here.options.get(name, str(default))
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text) or not float(text) > 0:
        raise ParameterError(f"{here}: {name} must be a number of seconds > 0, got {text!r}. Correct it.")
    return float(text)


def properties(here: Address) -> dict[str, str]:
    """Read the librdkafka properties file that a URL names; messages hold names and line numbers, never values."""
    name = here.options.get("config")
    if name is None:
        return {}
    try:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = "must be UTF-8" if isinstance(error, UnicodeDecodeError) else "cannot be read"
        raise ParameterError(f"{here}: config {name} {what}. Check the path and its permissions.") from None
    found: dict[str, str] = {}
    for number, line in enumerate((line.strip() for line in lines), 1):
        if not line or line.startswith("#"):
            continue
        key, sign, value = (part.strip() for part in line.partition("="))
        if not sign or not re.fullmatch(r"[a-z0-9._]+", key):
            raise ParameterError(f"{name}: line {number} must be property=value, as librdkafka names them. Correct it.")
        if key in OWNED:
            raise ParameterError(
                f"{name}: line {number} sets {key}, which shoal sets itself so that nothing is lost or released "
                "twice. Remove the line."
            )
        found[key] = value
    return found
