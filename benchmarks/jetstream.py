"""What a stream over NATS costs: tuples for each CPU second of shoal, and for each second.

``python benchmarks/jetstream.py [tuples]`` starts a server of its own, k = 10, δ = 1,000, three quasi-identifiers.
Beside it stands what the client alone needs to read the same messages and do nothing with them: no stream is faster.
"""

from __future__ import annotations

import importlib.util
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import shoal

RECIPE = {
    "quasi": ["a", "b", "c"],
    "bounds": {"a": [0, 100], "b": [0, 1], "c": [0, 1000]},
    "k": 10,
    "delay": 1000,
    "identifier": ["name"],
}


def arena_of(records: list[bytes]) -> Any:
    spec = importlib.util.spec_from_file_location("arena_nats", Path(__file__).parent / "arenas" / "nats.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Arena(Path(), records)


def read_only(source: str) -> int:
    """Read all messages with the reader that streams have, and do nothing with them."""
    from shoal.stream.channels._nats_connection import INPUT, Address, Connection
    from shoal.stream.channels._nats_reader import Consumers, Reader

    connection, count = Connection(Address.read(source, INPUT)), 0
    reader = Reader(connection, Consumers(connection, "idle"))
    reader.begin(0)
    while reader.left:
        count += len(reader.fetch(8192, 0.1))
    connection.close()
    return count


def measured(name: str, count: int, work: Any) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{name:12} {count / cpu:10,.0f} tuples/CPU s {count / wall:10,.0f} tuples/s", flush=True)


def main(count: int) -> None:
    rng = random.Random(0)
    made = [
        {"name": f"n{i}", "a": rng.random() * 100, "b": rng.random(), "c": rng.randrange(1000), "d": "x" * 40}
        for i in range(count)
    ]
    records = [json.dumps(one).encode() for one in made]
    warm = arena_of(records[:2000])
    shoal.run_stream(warm.source, warm.target, RECIPE)  # loads and compiles
    warm.close()
    arena = arena_of(records)
    measured("stream", count, lambda: shoal.run_stream(arena.source, arena.target, RECIPE))
    measured("only read", count, lambda: read_only(arena.source))
    arena.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
