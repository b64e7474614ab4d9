"""A broker that all tests share, and ways past shoal to look into it."""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

_broker = runpy.run_path(str(Path(__file__).with_name("broker.py")))


Cluster = runpy.run_path(str(Path(__file__).with_name("cluster.py")))["Cluster"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A broker of our own."""
    if find_spec("confluent_kafka") is None:
        (pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip)("confluent-kafka is not installed")
    base = tmp_path_factory.getbasetemp()
    try:
        return Cluster(_broker["shared"](base.parent if "PYTEST_XDIST_WORKER" in os.environ else base))
    except _broker["Missing"] as missing:
        (pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip)(str(missing))


@pytest.fixture
def own_cluster(tmp_path: Path) -> Any:
    """A broker that a test may stop; its process id."""
    try:
        cluster = Cluster(_broker["start"](tmp_path / "own", os.getpid()))
    except _broker["Missing"] as missing:
        (pytest.fail if os.environ.get("SHOAL_CI") else pytest.skip)(str(missing))
    yield cluster, int((tmp_path / "own" / "pid").read_text())
    (tmp_path / "own" / "pid").unlink(missing_ok=True)


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    """Properties under which a member that died is missed soon."""
    file = tmp_path / "quick.properties"
    file.write_text("session.timeout.ms=1000\nheartbeat.interval.ms=200\n")
    return file


@pytest.fixture
def opened(cluster: Any) -> Any:
    """Open links, and close them afterwards."""
    from shoal.stream.channels.kafka import Kafka
    from shoal.types.stream import Journey

    links: list[Any] = []

    def opened(source: str, target: str, *, delay: int = 5, fingerprint: str = "f", **more: Any) -> Any:
        links.append(Kafka().open(Journey(source, target, {"delay": delay}, fingerprint, **more)))
        return links[-1]

    yield opened
    for link in links:
        link.close()


@pytest.fixture
def pump() -> Callable[..., Any]:
    """A small pump: see `pump.py`."""
    return runpy.run_path(str(Path(__file__).with_name("pump.py")))["Pump"]
