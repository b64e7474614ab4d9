"""Durable consumers of one stream: one for each start of a group, that begins where the cursor is."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

from shoal.errors import DataError, EngineError
from shoal.jetstream.connection import Connection

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
