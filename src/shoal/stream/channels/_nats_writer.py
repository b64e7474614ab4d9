"""Atomic writing to a stream: classes, letters and cursor in one batch, fenced against a second writer."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from typing import Any

from shoal.errors import DataError, EngineError, ParameterError
from shoal.stream.channels._nats_connection import Connection
from shoal.stream.channels._nats_messages import Message, State

_PASSING = (10071, 10176)  # another message came last; a part was lost in transit: the stored state decides
_TOO_LARGE = 10199
_TIDY = 200  # number of steps after which old states are deleted
_HEADERS = 1024  # bytes allowed for headers


class FencedError(EngineError):
    """Another writer was faster."""


class Writer:
    """Writer to one stream, under subjects with one prefix: ``….classes``, ``….state`` and the dead letters.

    **Guarantee.** A step is stored whole or not at all, even if the process or the connection fails at any moment. If
    two writers continue from the same state, one of them fails with an error and has stored nothing.

    The state's subject is the fence: a batch is accepted only if the last message there is the one that this writer
    wrote last. So a step that was sent twice is stored once, without any time window.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection, self.address = connection, connection.address
        self._stream, self._subject = self.address.stream, self.address.subject
        self._sequence = self._steps = 0
        config = self._config()
        if not config.get("allow_atomic"):
            raise ParameterError(
                f"{self.address}: the stream must allow atomic batches, got one that does not. Allow them with nats "
                f"stream edit {self._stream} --allow-batch, on servers from 2.12 on."
            )
        if config.get("retention") != "limits":
            raise ParameterError(
                f"{self.address}: the stream must keep messages that were read (retention limits), got another. "
                "Write to one that does: it records what was released."
            )
        self._lasting = bool(config.get("allow_msg_ttl"))
        if config.get("max_age") and not self._lasting:
            raise ParameterError(
                f"{self.address}: a stream whose messages expire must allow exceptions (--allow-msg-ttl), got one "
                "that does not. Allow them: the message that records what was released must not expire."
            )
        most = config.get("max_msg_size", -1)
        self.largest = (min(most, connection.largest) if most > 0 else connection.largest) - _HEADERS

    def _config(self) -> dict[str, Any]:
        """Return the configuration of the stream; create it if it does not exist."""
        info = self._connection.api(f"STREAM.INFO.{self._stream}")
        if info.get("error", {}).get("code") == 404:
            info = self._connection.api(
                f"STREAM.CREATE.{self._stream}",
                name=self._stream,
                subjects=[f"{self._subject}.>"],
                storage="file",
                num_replicas=int(self.address.options.get("replicas", 1)),
                allow_atomic=True,
                allow_msg_ttl=True,
                allow_direct=True,
            )
        if "error" in info:
            raise EngineError(
                f"{self.address}: the server neither shows nor creates the stream (error "
                f"{info['error'].get('err_code')}). Check this user's permissions, or create the stream."
            )
        self.holds(f"{self._subject}.state")
        config: dict[str, Any] = info["config"]
        return config

    def holds(self, subject: str) -> None:
        """Refuse a subject that does not belong to this stream."""
        found = self._connection.api("STREAM.NAMES", subject=subject).get("streams") or []
        if found != [self._stream]:
            raise ParameterError(
                f"{self.address}: the stream must hold the subject {subject}, got one that does not. Add "
                f"{self._subject}.> to its subjects, or name another in the URL with ?subject=."
            )

    def last(self) -> State | None:
        """Return the last state, whoever wrote it; None if nothing was ever released."""
        found = self._connection.api(f"STREAM.MSG.GET.{self._stream}", last_by_subj=f"{self._subject}.state")
        if found.get("error", {}).get("code") == 404:
            self._sequence = 0
            return None
        if "error" in found:
            raise EngineError(
                f"{self.address}: the server does not show what was released (error "
                f"{found['error'].get('err_code')}). Check this user's permissions."
            )
        message = found["message"]
        try:
            state = State.read(base64.b64decode(message.get("data", "")))
        except DataError:
            raise DataError(
                f"{self.address}: the last message of {self._subject}.state must be one that this version of shoal "
                "wrote, got another. Name another subject with ?subject=."
            ) from None
        self._sequence = message["seq"]
        return state

    def write(self, messages: Sequence[Message], state: State) -> None:
        """Store messages and the state after them, all or nothing.

        Raises
        ------
        FencedError
            If another writer was faster; nothing was stored.
        EngineError
            If the server stays unreachable; the stored state says what happened.
        """
        headers = {"Nats-TTL": "never"} if self._lasting else {}
        until = time.monotonic() + self.address.patience
        body = state.written()
        if len(body) > self.largest:
            raise EngineError(
                f"{self.address}: the state must have at most {self.largest:,} bytes, got {len(body):,}. Raise "
                "max_payload on the server, or lower the largest delay."
            )
        while True:
            fence = {"Nats-Expected-Last-Subject-Sequence": str(self._sequence)}
            final = Message(f"{self._subject}.state", body, headers | fence)
            answer = self._connection.publish_together([*messages, final])
            if "seq" in answer and "error" not in answer:
                self._sequence = answer["seq"]
                break
            if self._stored(answer, state):
                break
            if time.monotonic() > until:
                raise self._connection.silent(TimeoutError())
        self._steps += 1
        if self._steps % _TIDY == 0:
            self.tidy()

    def _stored(self, answer: dict[str, Any], state: State) -> bool:
        """Find out whether an unconfirmed batch was stored."""
        error = answer.get("error") or {}
        before, last = self._sequence, self.last()
        if last is not None and last.step == state.step:
            return True
        if self._sequence != before:
            raise FencedError(
                f"{self.address}: another instance writes to {self._subject}, and this one stops; what it did not "
                "write was not released. Run one instance for each output."
            )
        code = error.get("err_code")
        if error.get("code") == 400 and code not in _PASSING:
            remedy = "Raise its limit of messages in a batch" if code == _TOO_LARGE else "See the server's log"
            raise EngineError(f"{self.address}: the server does not accept a step (error {code}). {remedy}.")
        return False

    def tidy(self) -> None:
        """Delete old states without waiting; without permission they stay."""
        self._connection.tell(f"STREAM.PURGE.{self._stream}", filter=f"{self._subject}.state", keep=1)
