"""Where a stream is tortured: two topics of a Kafka broker of our own, and one for dead letters."""

from __future__ import annotations

import atexit
import os
import runpy
import shutil
import tempfile
import uuid
from pathlib import Path

_BROKER = Path(__file__).parents[2] / "tests" / "kafka"
_servers: list[str] = []


def cluster() -> object:
    """Return ways past shoal into a broker that lives as long as this process."""
    if not _servers:
        folder = Path(tempfile.mkdtemp(prefix="kafka"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        _servers.append(runpy.run_path(str(_BROKER / "broker.py"))["start"](folder / "broker", os.getpid()))
    return runpy.run_path(str(_BROKER / "cluster.py"))["Cluster"](_servers[0])


class Arena:
    """One stream over Kafka, from its first record to its last."""

    ends = True  #: the stream comes to an end by itself
    lives = (0.2, 1.5)  #: seconds until it is killed: it joins its group first

    def __init__(self, folder: Path, records: list[bytes]) -> None:
        self._cluster = cluster()
        self._topics = [self._cluster.topic() for _ in range(3)]
        self._cluster.send(self._topics[0], records)
        options = {"group": uuid.uuid4().hex, "until": "end", "instance": "one"}  # a killed one is replaced at once
        self.source = self._cluster.url(self._topics[0], **options)
        self.target, self.dead = (self._cluster.url(topic) for topic in self._topics[1:])

    def released(self) -> list[bytes]:
        """Return the tuples that a reader sees with isolation.level=read_committed."""
        return self._cluster.read(self._topics[1])[0]

    def letters(self) -> list[bytes]:
        """Return the dead letters."""
        return self._cluster.read(self._topics[2])[0]

    def settled(self) -> bool:
        """Whether nothing more will leave; it says so itself."""
        return False

    def close(self) -> None:
        """Leave the topics: the broker goes with the process."""
