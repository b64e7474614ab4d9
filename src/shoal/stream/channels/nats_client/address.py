"""Where a stream of NATS is: servers, the name of the stream, and what a URL says besides. A secret is never shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from shoal.errors import ParameterError, raise_all

SCHEME = "nats"
_URL = re.compile(r"^nats://(?:(?P<who>.*)@)?(?P<hosts>[^/@]*)/?(?P<stream>[^/]*)$", re.DOTALL | re.IGNORECASE)
_HOST = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?$")
_NAME = re.compile(r"^[A-Za-z0-9_-]+$")
_SUBJECT = re.compile(r"^[^\s.*>]+(\.[^\s.*>]+)*$")
_FILTER = re.compile(r"^([^\s.*>]+|\*)(\.([^\s.*>]+|\*))*(\.>)?$")
_PORT = 4222

#: What may follow "?" in the URL of an input and of an output.
INPUT = ("subject", "consumer", "until", "gone", "creds", "tls", "ca", "patience")
OUTPUT = ("subject", "replicas", "creds", "tls", "ca", "patience")


@dataclass(frozen=True)
class Address:
    """A stream of a NATS server, as a URL names it.

    >>> Address.read("nats://ann:secret@one,two:4333/VISITS?subject=visits.eu", INPUT).servers
    ('nats://one:4222', 'nats://two:4333')
    >>> str(Address.read("nats://ann:secret@one/VISITS", INPUT))
    'nats://one/VISITS'
    """

    servers: tuple[str, ...]
    stream: str
    shown: str
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)  #: None with a user: the user is a token
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.shown

    @classmethod
    def read(cls, url: str, allowed: tuple[str, ...]) -> Address:
        """Take a URL apart.

        Raises
        ------
        ParameterError
            If it is none, or if what follows ``?`` is not allowed; the sentence holds neither user nor password.
        """
        front, _, text = url.partition("?")
        found = _URL.match(front)
        hosts = [_HOST.match(host) for host in found["hosts"].split(",")] if found else []
        if found is None or not all(hosts) or not _NAME.match(found["stream"]):
            raise ParameterError(
                "nats://…: a stream of NATS must be written nats://HOST:PORT/STREAM, a user "
                "before the host if there is one, got something else. Write signs such as @, / and ? in a password "
                "as %40, %2F and %3F."
            )
        shown = f"nats://{found['hosts']}/{found['stream']}"
        options = _options(shown, text, allowed)
        scheme = "tls" if options.keys() & {"tls", "ca"} else SCHEME  # else as the server wants it
        user, colon, password = (found["who"] or "").partition(":")
        return cls(
            tuple(f"{scheme}://{host['name']}:{host['port'] or _PORT}" for host in hosts if host),
            found["stream"],
            shown,
            unquote(user) or None,
            unquote(password) if colon else None,
            options,
        )

    @property
    def filter(self) -> str | None:
        """The subject of an input, which may hold wildcards; None: all that the stream holds."""
        return self.options.get("subject")

    @property
    def subject(self) -> str:
        """What the subjects of an output begin with."""
        return self.options.get("subject", self.stream)

    @property
    def patience(self) -> float:
        """For how many seconds a server that is away is tried again."""
        return float(self.options.get("patience", 30))

    @property
    def lane(self) -> str:
        """What an input is called: the stream, and the subject if not all of it."""
        return f"{self.stream}/{self.filter}" if self.filter else self.stream


def _options(shown: str, text: str, allowed: tuple[str, ...]) -> dict[str, str]:
    """Read what follows ``?``, collecting every fault."""
    pairs = parse_qsl(text, keep_blank_values=True)
    options = dict(pairs)
    faults = []
    if not options.keys() <= set(allowed):
        faults.append(f"{shown}: the options must be among {', '.join(allowed)}, got another. Take it away.")
    if len(options) < len(pairs):
        faults.append(f"{shown}: an option must stand once, got one twice. Take one away.")
    checks = {
        "subject": (
            _FILTER if "until" in allowed else _SUBJECT,
            "a subject" + (" or a pattern of subjects" if "until" in allowed else " without * and >"),
        ),
        "consumer": (_NAME, "letters, digits, - and _"),
        "until": (re.compile("^end$"), "end"),
        "gone": (re.compile("^skip$"), "skip"),
        "replicas": (re.compile("^[1-5]$"), "1 to 5"),
        "tls": (re.compile("^on$"), "on"),
        "patience": (re.compile(r"^\d{1,6}(\.\d+)?$"), "seconds ≥ 0"),
    }
    for name, (pattern, words) in checks.items():
        if name in options and name in allowed and not pattern.match(options[name]):
            faults.append(f"{shown}: {name} must be {words}, got something else. Correct it.")
    for name in ("creds", "ca"):
        if name in options and name in allowed and not Path(options[name]).is_file():
            faults.append(f"{shown}: {name} must be a file that is there, got none. Check the path.")
    raise_all(ParameterError, faults)
    return options
