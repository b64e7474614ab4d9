"""A connection to NATS that blocks: its event loop runs in a thread of its own, whatever runs in the caller's."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from uuid import uuid4

from shoal.errors import EngineError, ParameterError
from shoal.registry import package
from shoal.stream.channels.nats_client.address import Address
from shoal.stream.channels.nats_client.packing import Message

T = TypeVar("T")
_ANSWER = 5.0  # seconds that one request may take before it is sent again
_AGAIN = 0.2


class Connection:
    """A server, or several of one cluster. What goes wrong with it is an `EngineError` in a sentence.

    **Guarantee.** A request is sent again until it is answered or `Address.patience` is over, so it must do no harm
    twice. `publish_together` is sent once: who asks must find out what became of it.
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
        """How many bytes a message may have, headers and body."""
        return int(self._client.max_payload)

    @property
    def faults(self) -> type[Exception]:
        """What the client raises."""
        kind: type[Exception] = self._nats.errors.Error
        return kind

    @property
    def client(self) -> Any:
        """The client of nats-py, for code that runs in its loop."""
        return self._client

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for what it returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the loop; nobody waits for it."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def api(self, subject: str, /, **body: Any) -> dict[str, Any]:
        """Ask JetStream; an answer that says no has the key ``error``."""
        return self.wait(self.asked(subject, body))

    def tell(self, subject: str, /, **body: Any) -> None:
        """Ask JetStream for what need not be done; nobody waits for an answer."""
        self.start(self._client.publish(f"$JS.API.{subject}", json.dumps(body).encode()))

    async def asked(self, subject: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Ask JetStream from within the loop."""
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
        """Publish an atomic batch to one stream; return the server's answer, empty if none came in time."""
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
        """Return what to raise when the server does not answer; of the error only its kind: words may hold a URL."""
        kind = type(error).__name__
        if isinstance(error, self._nats.errors.NoRespondersError):
            return EngineError(
                f"{self.address}: JetStream did not answer within {self.address.patience:g} s ({kind}). Check that it "
                "is on (nats-server -js) and open to this user."
            )
        return EngineError(
            f"{self.address}: the server could not be reached within {self.address.patience:g} s ({kind}). Check that "
            "it runs, and the host and port in the URL."
        )

    async def _connect(self) -> Any:
        """Connect, trying again while there is patience; a server that lets nobody in is asked once."""
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
                f"{self.address}: the server does not let this user in. Check user and password in the URL, or ?creds=."
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
        """Let go of the server, the loop and the thread; twice does no harm."""
        if self._loop.is_closed():
            return
        self.wait(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        gone = (self._nats.errors.Error, OSError, AttributeError)  # or it never was there
        with suppress(*gone):
            await self._client.flush(timeout=2)  # acknowledgements that are on their way
        for _ in range(2):  # with a server that is away the first may fail half-way
            with suppress(*gone):
                await self._client.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
