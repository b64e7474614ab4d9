"""Blocking connection to NATS, and its address.

The event loop runs in its own thread, independent of the caller's. Secrets in an address are never shown.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote
from uuid import uuid4

from shoal.errors import EngineError, ParameterError, raise_all
from shoal.registry import package
from shoal.stream.channels._nats_messages import Message

SCHEME = "nats"
_URL = re.compile(r"^nats://(?:(?P<who>.*)@)?(?P<hosts>[^/@]*)/?(?P<stream>[^/]*)$", re.DOTALL | re.IGNORECASE)
_HOST = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?$")
_NAME = re.compile(r"^[A-Za-z0-9_-]+$")
_SUBJECT = re.compile(r"^[^\s.*>]+(\.[^\s.*>]+)*$")
_FILTER = re.compile(r"^([^\s.*>]+|\*)(\.([^\s.*>]+|\*))*(\.>)?$")
_PORT = 4222

#: Options allowed after "?" in the URL of an input and of an output.
INPUT = ("subject", "consumer", "until", "gone", "creds", "tls", "ca", "patience")
OUTPUT = ("subject", "replicas", "creds", "tls", "ca", "patience")


@dataclass(frozen=True)
class Address:
    """A stream on a NATS server, parsed from its URL.

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
        """Parse a URL.

        Raises
        ------
        ParameterError
            If it is not a valid URL, or has an option that is not allowed; the sentence shows neither user nor
            password.
        """
        front, _, text = url.partition("?")
        found = _URL.match(front)
        hosts = [_HOST.match(host) for host in found["hosts"].split(",")] if found else []
        if found is None or not all(hosts) or not _NAME.match(found["stream"]):
            raise ParameterError(
                "nats://…: a NATS stream must be written nats://HOST:PORT/STREAM, or nats://USER@HOST:PORT/STREAM, "
                "got something else. Write characters such as @, / and ? in a password as %40, %2F and %3F."
            )
        shown = f"nats://{found['hosts']}/{found['stream']}"
        options = _options(shown, text, allowed)
        scheme = "tls" if options.keys() & {"tls", "ca"} else SCHEME  # otherwise the server decides
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
        """The subject filter of an input, possibly with wildcards; None: the whole stream."""
        return self.options.get("subject")

    @property
    def subject(self) -> str:
        """The prefix of an output's subjects."""
        return self.options.get("subject", self.stream)

    @property
    def patience(self) -> float:
        """Number of seconds for which an unreachable server is retried."""
        return float(self.options.get("patience", 30))

    @property
    def lane(self) -> str:
        """The name of an input: the stream, and its subject if filtered."""
        return f"{self.stream}/{self.filter}" if self.filter else self.stream


def _options(shown: str, text: str, allowed: tuple[str, ...]) -> dict[str, str]:
    """Parse the options after ``?``, collecting every fault."""
    pairs = parse_qsl(text, keep_blank_values=True)
    options = dict(pairs)
    faults = []
    if not options.keys() <= set(allowed):
        faults.append(f"{shown}: the options must be among {', '.join(allowed)}, got another. Remove it.")
    if len(options) < len(pairs):
        faults.append(f"{shown}: an option must be given once, got one twice. Remove one.")
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
            faults.append(f"{shown}: {name} must be an existing file, got none. Check the path.")
    raise_all(ParameterError, faults)
    return options


T = TypeVar("T")
_ANSWER = 5.0  # seconds before an unanswered request is sent again
_AGAIN = 0.2
_CLOSING = 2.0  # seconds for each step of closing a connection


class Connection:
    """A server, or several of one cluster. Connection problems raise an `EngineError` with a sentence.

    **Guarantee.** A request is resent until it is answered or `Address.patience` has passed, so it must be idempotent.
    `publish_together` is sent once: the caller must find out whether it was stored.
    """

    def __init__(self, address: Address) -> None:
        self._nats = package("nats", "nats", address)
        if "creds" in address.options:
            package("nkeys", "nats", address)
        self.address = address
        self._answer = min(_ANSWER, max(address.patience, _AGAIN))
        self.reconnected: Callable[[], Coroutine[Any, Any, None]] | None = None
        self._refused: asyncio.Future[None] | None = None
        self._client: Any = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="shoal-nats", daemon=True)
        self._thread.start()
        try:
            self._client = self.wait(self._connect())
        except BaseException:
            self.close()
            raise

    @property
    def largest(self) -> int:
        """Maximum size of a message in bytes, headers and body."""
        return int(self._client.max_payload)

    @property
    def faults(self) -> type[Exception]:
        """The exceptions of the client."""
        kind: type[Exception] = self._nats.errors.Error
        return kind

    @property
    def client(self) -> Any:
        """The nats-py client, for code that runs in its loop."""
        return self._client

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the loop without waiting for it."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def api(self, subject: str, /, **body: Any) -> dict[str, Any]:
        """Send a JetStream request; a refusal has the key ``error``."""
        return self.wait(self.asked(subject, body))

    def tell(self, subject: str, /, **body: Any) -> None:
        """Send an optional JetStream request without waiting for an answer."""
        self.start(self._client.publish(f"$JS.API.{subject}", json.dumps(body).encode()))

    async def asked(self, subject: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a JetStream request from within the loop."""
        until = time.monotonic() + self.address.patience
        while True:
            try:
                answer = await self._client.request(
                    f"$JS.API.{subject}", json.dumps(body).encode() if body else b"", timeout=self._answer
                )
                found: dict[str, Any] = json.loads(answer.data)
                return found
            except (self._nats.errors.Error, OSError, ValueError) as error:
                if time.monotonic() > until:
                    raise self.silent(error) from None
            await asyncio.sleep(_AGAIN)

    def publish_together(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Publish an atomic batch to one stream; return the server's answer, empty if none arrived in time."""
        return self.wait(self._together(messages, uuid4().hex))

    async def _together(self, messages: Sequence[Message], batch: str) -> dict[str, Any]:
        try:
            for number, message in enumerate(messages[:-1], 1):
                headers = {**message.headers, "Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(number)}
                await self._client.publish(message.subject, message.body, headers=headers)
            last = messages[-1]
            headers = {**last.headers, "Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(len(messages))}
            headers["Nats-Batch-Commit"] = "1"
            answer = await self._client.request(last.subject, last.body, headers=headers, timeout=self._answer)
            found: dict[str, Any] = json.loads(answer.data)
            return found
        except (self._nats.errors.Error, OSError, ValueError):
            await asyncio.sleep(_AGAIN)
            return {}

    def silent(self, error: BaseException) -> EngineError:
        """Return the exception for an unresponsive server; names only the error type, as its text may hold a URL."""
        kind = type(error).__name__
        if isinstance(error, self._nats.errors.NoRespondersError):
            return EngineError(
                f"{self.address}: JetStream did not answer within {self.address.patience:g} s ({kind}). Check that "
                "it is enabled (nats-server -js) and open to this user."
            )
        return EngineError(
            f"{self.address}: the server could not be reached within {self.address.patience:g} s ({kind}). Check "
            "that it is running, and the host and port in the URL."
        )

    async def _connect(self) -> Any:
        """Connect, retrying while there is patience; a server that denies access is asked once."""
        self._refused = asyncio.get_running_loop().create_future()
        client = self._nats.NATS()
        trying = asyncio.ensure_future(client.connect(**self._settings()))
        await asyncio.wait({trying, self._refused}, timeout=self.address.patience, return_when="FIRST_COMPLETED")
        if trying.done() and trying.exception() is None:
            return client
        refused = self._refused.done()
        error = trying.exception() if trying.done() else client.last_error
        trying.cancel()
        await asyncio.gather(trying, return_exceptions=True)
        await client.close()
        if refused:
            raise EngineError(
                f"{self.address}: the server rejects this user. Check user and password in the URL, or ?creds=."
            )
        raise self.silent(error or TimeoutError())

    def _settings(self) -> dict[str, Any]:
        address = self.address
        settings: dict[str, Any] = {
            "servers": list(address.servers),
            "name": "shoal",
            "max_reconnect_attempts": -1,
            "reconnect_time_wait": _AGAIN,
            "connect_timeout": 2,
            "error_cb": self._error,
            "reconnected_cb": self._back,
        }
        if "creds" in address.options:
            settings["user_credentials"] = address.options["creds"]
        elif address.password is not None:
            settings |= {"user": address.user, "password": address.password}
        elif address.user is not None:
            settings["token"] = address.user
        if "ca" in address.options:
            try:
                settings["tls"] = ssl.create_default_context(cafile=address.options["ca"])
            except (ssl.SSLError, OSError):
                raise ParameterError(f"{address}: ca must be a file of certificates, got another. Check it.") from None
        return settings

    async def _error(self, error: Exception) -> None:
        if "authorization" in str(error).lower() and self._refused is not None and not self._refused.done():
            self._refused.set_result(None)

    async def _back(self) -> None:
        if self.reconnected is not None:
            self._loop.create_task(self.reconnected())

    def close(self) -> None:
        """Close the connection, the loop and the thread; may be called twice."""
        if self._loop.is_closed():
            return
        self.wait(self._close())
        self._loop.set_exception_handler(lambda *_: None)  # says that tasks end with the loop
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        gone = (self._nats.errors.Error, OSError, AttributeError)  # or it never connected
        with suppress(*gone):
            await _briefly(self._client.flush(timeout=_CLOSING))  # acknowledgements in flight
        for _ in range(2):  # if the server is unreachable the first attempt may fail half-way
            with suppress(*gone):
                await _briefly(self._client.close())
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await _briefly(asyncio.gather(*others, return_exceptions=True))


async def _briefly(work: Awaitable[Any]) -> None:
    """Wait for a step of closing, but not for ever: the client may wait for a server that is gone."""
    step = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({step}, timeout=_CLOSING)
    for one in done:
        one.result()
