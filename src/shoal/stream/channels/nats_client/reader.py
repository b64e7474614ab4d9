"""Reading a stream in order from a sequence number on, and acknowledging only what is done."""

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
from shoal.stream.channels.nats_client.connection import Connection
from shoal.stream.channels.nats_client.messages import Delivered, Reply

_FOREVER = 10 * 365 * 86400 * 10**9  # nanoseconds: what is not acknowledged is read again after a restart, not before


class Consumers:
    """The consumers of one group.

    **Guarantee.** Messages from the cursor on stay in the stream, also in one that keeps only what somebody still
    needs: the consumer of a new start is there before that of the last one goes. (A work queue keeps them anyway.)

    **Departures.** Each start makes a consumer of its own, with the name of the group and a number, instead of one
    name for all: what a process that died had not acknowledged would come back late and out of order.
    """

    def __init__(self, connection: Connection, group: str) -> None:
        self._connection, self._group = connection, group
        self._stream, self._filter = connection.address.stream, connection.address.filter
        info = connection.api(f"STREAM.INFO.{self._stream}")
        if "error" in info:
            raise DataError(f"{connection.address}: there is no such stream. Check its name, or make it.")
        self.born = str(info["created"])
        self.queue = info["config"].get("retention") == "workqueue"

    def first(self) -> int:
        """Return the sequence number of the oldest message that the stream still holds, or will hold next."""
        info = self._connection.api(f"STREAM.INFO.{self._stream}")
        return int(info.get("state", {}).get("first_seq", 0))

    def begun(self) -> bool:
        """Whether there is a consumer of the group: then there was a state, which is written before it is made."""
        return bool(self._connection.wait(self._names()))

    async def begin(self, place: int) -> tuple[str, int]:
        """Make the consumer of this start, then let go of those before; return its name and how much it has to read."""
        before = await self._names()
        name = f"{self._group}-{uuid4().hex[:8]}"
        if self.queue:  # gives each message to one consumer only
            await self._delete(before)
        answer = await self._connection.asked(
            f"CONSUMER.DURABLE.CREATE.{self._stream}.{name}",
            {"stream_name": self._stream, "config": self._config(name, place)},
        )
        if "error" in answer:
            raise EngineError(
                f"{self._connection.address}: the server would make no consumer (error "
                f"{answer['error'].get('err_code')}). Check the subject in the URL, and what this user may do."
            )
        if not self.queue:
            await self._delete(before)
        return name, int(answer.get("num_pending", 0))

    async def has(self, name: str) -> bool:
        """Whether there is such a consumer; the one that is just being made has no name yet."""
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


_BATCH = 500  # messages that one pull asks for
_AHEAD = 2000  # no pull while so many wait to be taken
_EXPIRES, _BEAT = 60, 5  # seconds that a pull lasts; how often the server says that it is there
_BEATS, _OVER = "100", ("404", "408", "409")  # what the server says of a pull: still there; over


class Reader:
    """What reads one stream.

    **Guarantee.** Records come in the order of the stream, each once, none left out that the stream still holds, also
    when the connection was lost meanwhile. A record is acknowledged only when it and all before it are done.
    """

    def __init__(self, connection: Connection, consumers: Consumers) -> None:
        self._connection, self._consumers = connection, consumers
        self._came = threading.Event()
        self._ready: deque[Delivered] = deque()
        self._replies: deque[tuple[int, str]] = deque()  # of what is not acknowledged yet
        self._fault: ShoalError | None = None
        self._consumer, self._inbox = "", connection.client.new_inbox()
        self._pull = self._asked = self._count = self._place = self._last = 0
        self._heard = self._well = time.monotonic()
        self._lock = asyncio.Lock()
        self._pending = 0  # messages that the server still has for us

    @property
    def left(self) -> int:
        """How many messages there are still to fetch, as far as the server has said."""
        return len(self._ready) + self._pending

    def begin(self, place: int) -> None:
        """Read from a sequence number on."""
        self._place, self._last = place, place - 1
        self._connection.wait(self._connection.client.subscribe(f"{self._inbox}.*", cb=self._take))
        self._connection.wait(self._begin())
        self._raise()
        self._connection.reconnected = self._begin

    async def _begin(self) -> None:
        """Begin with a new consumer at the cursor; what came already comes again, to be acknowledged to it."""
        async with self._lock:
            self._consumer, self._pull = "", self._pull + 1  # what is said of older pulls is of no meaning
            try:
                name, self._pending = await self._consumers.begin(self._place)
            except ShoalError as error:
                self._fail(error)
                return
            self._replies.clear()
            self._consumer, self._count, self._asked = name, 0, 0
            await self._ask()

    def fetch(self, most: int, seconds: float) -> list[Delivered]:
        """Return up to so many messages, none if none came in time."""
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
        """Say that all before a sequence number is done; nobody waits for the server, the next time says it again."""
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
        """See that the server is still there; one that is silent for long has forgotten what it was asked."""
        now = time.monotonic()
        if self._connection.client.is_connected:
            self._well = now
            if now - self._heard > 3 * _BEAT and self._consumer:
                self._heard = now
                self._connection.start(self._begin())
        elif now - self._well > self._connection.address.patience:
            raise self._connection.silent(ConnectionError())

    async def _publish(self, subject: str, body: bytes, reply: str = "") -> None:
        """Publish what may be lost: it is said again after a while."""
        with suppress(self._connection.faults, OSError):
            await self._connection.client.publish(subject, body, reply)

    async def _ask(self) -> None:
        """Pull, if nothing is under way and not too much waits to be taken."""
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
        """Take what the server sends: a message of the stream, or a word about a pull."""
        self._heard = time.monotonic()
        if not message.reply.startswith("$JS.ACK."):
            await self._told(message)
            return
        reply = Reply.read(message.reply)
        if reply.consumer != self._consumer:
            return  # of one that is no more
        self._asked, self._count = self._asked - 1, self._count + 1
        if reply.number != self._count:  # one was lost on the way
            self._consumer = ""
            self._connection.start(self._begin())
            return
        if reply.place >= self._place:
            self._replies.append((reply.place, message.reply))
        elif self._consumers.queue:  # done, but not acknowledged before a crash
            await self._publish(message.reply, b"+ACK")
        if reply.place > self._last:
            self._last = reply.place
            self._ready.append(Delivered(reply.place, message.data))
            self._came.set()
        self._pending = reply.pending
        if self._asked <= 0:
            await self._ask()

    async def _told(self, message: Any) -> None:
        """Hear what became of a pull."""
        headers = message.headers or {}
        if message.subject != f"{self._inbox}.{self._pull}" or headers.get("Status") == _BEATS:
            return
        if "Consumer Deleted" in headers.get("Description", "") or await self._lost(headers.get("Status", "")):
            words = "another instance took over, or a person deleted the consumer. Run one instance for one output."
            self._fail(EngineError(f"{self._connection.address}: {words}"))
        elif message.subject == f"{self._inbox}.{self._pull}":
            self._asked = 0
            await self._ask()

    async def _lost(self, status: str) -> bool:
        """Whether nobody answers because there is no consumer any more."""
        if status in _OVER:
            return False
        await asyncio.sleep(0.2)
        try:
            return not await self._consumers.has(self._consumer)
        except ShoalError as error:
            self._fail(error)
            return False
