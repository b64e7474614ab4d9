"""Ordered reading of a stream from a sequence number, with acknowledgement of finished records only."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any
from uuid import uuid4

from shoal.errors import DataError, EngineError, ShoalError
from shoal.stream.channels._nats_connection import Connection
from shoal.stream.channels._nats_messages import Delivered, Reply

_FOREVER = 10 * 365 * 86400 * 10**9  # nanoseconds: unacknowledged messages are redelivered after a restart, not before


class Consumers:
    """The consumers of one group.

    **Guarantee.** Messages from the cursor on stay in the stream, even in one that keeps only what a consumer still
    needs: a new start creates its consumer before it deletes the last one. (A work queue keeps them anyway.)

    **Departures.** Each start creates its own consumer, named after the group with a number, instead of sharing one
    name: messages that a crashed process had not acknowledged would otherwise be redelivered late and out of order.
    """

    def __init__(self, connection: Connection, group: str) -> None:
        self._connection, self._group = connection, group
        self._stream, self._filter = connection.address.stream, connection.address.filter
        info = connection.api(f"STREAM.INFO.{self._stream}")
        if "error" in info:
            raise DataError(f"{connection.address}: there is no such stream. Check its name, or create it.")
        self.born = str(info["created"])
        self.queue = info["config"].get("retention") == "workqueue"

    def first(self) -> int:
        """Return the sequence number of the oldest message in the stream, or of the next if it is empty."""
        info = self._connection.api(f"STREAM.INFO.{self._stream}")
        return int(info.get("state", {}).get("first_seq", 0))

    def begun(self) -> bool:
        """Whether the group has a consumer: then a state was written, because that comes first."""
        return bool(self._connection.wait(self._names()))

    async def begin(self, place: int) -> tuple[str, int]:
        """Create this start's consumer, then delete earlier ones; return its name and its number of messages."""
        before = await self._names()
        name = f"{self._group}-{uuid4().hex[:8]}"
        if self.queue:  # delivers each message to one consumer only
            await self._delete(before)
        answer = await self._connection.asked(
            f"CONSUMER.DURABLE.CREATE.{self._stream}.{name}",
            {"stream_name": self._stream, "config": self._config(name, place)},
        )
        if "error" in answer:
            raise EngineError(
                f"{self._connection.address}: the server did not create a consumer (error "
                f"{answer['error'].get('err_code')}). Check the subject in the URL, and this user's permissions."
            )
        if not self.queue:
            await self._delete(before)
        return name, int(answer.get("num_pending", 0))

    async def has(self, name: str) -> bool:
        """Whether such a consumer exists; one that is being created has no name yet."""
        answer = await self._connection.asked(f"CONSUMER.INFO.{self._stream}.{name}", {}) if name else {}
        error = answer.get("error") or {}
        return error.get("code") != 404

    def _config(self, name: str, place: int) -> dict[str, Any]:
        config: dict[str, Any] = {
            "name": name,
            "durable_name": name,
            "ack_policy": "explicit" if self.queue else "all",
            "ack_wait": _FOREVER,
            "max_ack_pending": -1,
            "deliver_policy": "all",
        }
        if place > 1 and not self.queue:
            config |= {"deliver_policy": "by_start_sequence", "opt_start_seq": place}
        return config | ({"filter_subject": self._filter} if self._filter else {})

    async def _names(self) -> list[str]:
        ours, found, more = re.compile(re.escape(self._group) + "-[0-9a-f]{8}"), list[str](), True
        while more:
            answer = await self._connection.asked(f"CONSUMER.NAMES.{self._stream}", {"offset": len(found)})
            names = answer.get("consumers") or []
            found += names
            more = bool(names) and len(found) < answer.get("total", 0)
        return [name for name in found if ours.fullmatch(name)]

    async def _delete(self, names: list[str]) -> None:
        for name in names:
            await self._connection.asked(f"CONSUMER.DELETE.{self._stream}.{name}", {})


_BATCH = 500  # messages per pull
_AHEAD = 2000  # no pull while this many are buffered
_EXPIRES, _BEAT = 60, 5  # seconds that a pull lasts; interval of the server's heartbeats
_BEATS, _OVER = "100", ("404", "408", "409")  # server status of a pull: alive; ended


class Reader:
    """Reader of one stream.

    **Guarantee.** Records arrive in stream order, each once, with none missing that the stream still holds, even if the
    connection was lost in between. A record is acknowledged only when it and all before it are finished.
    """

    def __init__(self, connection: Connection, consumers: Consumers) -> None:
        self._connection, self._consumers = connection, consumers
        self._came = threading.Event()
        self._ready: deque[Delivered] = deque()
        self._replies: deque[tuple[int, str]] = deque()  # of messages not acknowledged yet
        self._fault: ShoalError | None = None
        self._consumer, self._inbox = "", connection.client.new_inbox()
        self._pull = self._asked = self._count = self._place = self._last = 0
        self._heard = self._well = time.monotonic()
        self._lock = asyncio.Lock()
        self._pending = 0  # messages that the server still has for us

    @property
    def left(self) -> int:
        """Number of messages still to fetch, according to the server."""
        return len(self._ready) + self._pending

    def begin(self, place: int) -> None:
        """Start reading at a sequence number."""
        self._place, self._last = place, place - 1
        self._connection.wait(self._connection.client.subscribe(f"{self._inbox}.*", cb=self._take))
        self._connection.wait(self._begin())
        self._raise()
        self._connection.reconnected = self._begin

    async def _begin(self) -> None:
        """Create a consumer at the cursor; messages received before are redelivered, to be acknowledged to it."""
        async with self._lock:
            self._consumer, self._pull = "", self._pull + 1  # statuses of older pulls are ignored
            try:
                name, self._pending = await self._consumers.begin(self._place)
            except ShoalError as error:
                self._fail(error)
                return
            self._replies.clear()
            self._consumer, self._count, self._asked = name, 0, 0
            await self._ask()

    def fetch(self, most: int, seconds: float) -> list[Delivered]:
        """Return up to `most` messages, none if none arrived in time."""
        self._came.clear()
        if not self._ready and self._fault is None:
            self._came.wait(seconds)
        self._raise()
        taken = [self._ready.popleft() for _ in range(min(most, len(self._ready)))]
        if self._asked <= 0:
            self._connection.start(self._ask())
        if not taken:
            self._check()
        return taken

    def acknowledge(self, before: int) -> None:
        """Acknowledge everything before a sequence number without waiting; the next call repeats it."""
        self._connection.start(self._acknowledge(before))

    async def _acknowledge(self, before: int) -> None:
        self._place, done = before, list[str]()
        while self._replies and self._replies[0][0] < before:
            done.append(self._replies.popleft()[1])
        for reply in done if self._consumers.queue else done[-1:]:
            await self._publish(reply, b"+ACK")

    def _raise(self) -> None:
        if self._fault is not None:
            raise self._fault

    def _fail(self, error: ShoalError) -> None:
        self._fault = error
        self._came.set()

    def _check(self) -> None:
        """Check that the server is alive; one that is silent for long has forgotten the request."""
        now = time.monotonic()
        if self._connection.client.is_connected:
            self._well = now
            if now - self._heard > 3 * _BEAT and self._consumer:
                self._heard = now
                self._connection.start(self._begin())
        elif now - self._well > self._connection.address.patience:
            raise self._connection.silent(ConnectionError())

    async def _publish(self, subject: str, body: bytes, reply: str = "") -> None:
        """Publish a message that may be lost: it is repeated later."""
        with suppress(self._connection.faults, OSError):
            await self._connection.client.publish(subject, body, reply)

    async def _ask(self) -> None:
        """Pull, if no pull is active and the buffer is not too full."""
        if not self._consumer or self._asked > 0 or len(self._ready) >= _AHEAD:
            return
        self._pull, self._asked, self._heard = self._pull + 1, _BATCH, time.monotonic()
        wanted = {
            "batch": _BATCH,
            "expires": _EXPIRES * 10**9,
            "idle_heartbeat": _BEAT * 10**9,
            "max_bytes": 8 * self._connection.largest,
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._connection.address.stream}.{self._consumer}"
        await self._publish(subject, json.dumps(wanted).encode(), f"{self._inbox}.{self._pull}")

    async def _take(self, message: Any) -> None:
        """Handle a message from the server: a record of the stream, or the status of a pull."""
        self._heard = time.monotonic()
        if not message.reply.startswith("$JS.ACK."):
            await self._told(message)
            return
        reply = Reply.read(message.reply)
        if reply.consumer != self._consumer:
            return  # of a deleted consumer
        self._asked, self._count = self._asked - 1, self._count + 1
        if reply.number != self._count:  # one was lost in transit
            self._consumer = ""
            self._connection.start(self._begin())
            return
        if reply.place >= self._place:
            self._replies.append((reply.place, message.reply))
        elif self._consumers.queue:  # finished, but not acknowledged before a crash
            await self._publish(message.reply, b"+ACK")
        if reply.place > self._last:
            self._last = reply.place
            self._ready.append(Delivered(reply.place, message.data))
            self._came.set()
        self._pending = reply.pending
        if self._asked <= 0:
            await self._ask()

    async def _told(self, message: Any) -> None:
        """Handle the status of a pull."""
        headers = message.headers or {}
        if message.subject != f"{self._inbox}.{self._pull}" or headers.get("Status") == _BEATS:
            return
        if "Consumer Deleted" in headers.get("Description", "") or await self._lost(headers.get("Status", "")):
            words = "another instance took over, or the consumer was deleted. Run one instance for each output."
            self._fail(EngineError(f"{self._connection.address}: {words}"))
        elif message.subject == f"{self._inbox}.{self._pull}":
            self._asked = 0
            await self._ask()

    async def _lost(self, status: str) -> bool:
        """Whether there is no answer because the consumer no longer exists."""
        if status in _OVER:
            return False
        await asyncio.sleep(0.2)
        try:
            return not await self._consumers.has(self._consumer)
        except ShoalError as error:
            self._fail(error)
            return False
