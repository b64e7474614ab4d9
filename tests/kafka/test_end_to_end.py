"""Streams over Kafka as users run them: the pump, the gate, processes that are killed."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from typing import Any

import numpy as np

from shoal.stream.recipe import StreamRecipe
from shoal.stream.run import Streaming, run_stream

RECIPE = StreamRecipe(quasi=("a", "b"), bounds={"a": (0, 100), "b": (0, 1)}, k=4, delay=30, confidential=("c",))


def tuples(n: int, of: str = "", seed: int = 0) -> list[bytes]:
    """Tuples, each with a confidential value that no other has."""
    rng = np.random.default_rng(seed)
    return [
        json.dumps({"a": round(rng.uniform(0, 100), 2), "b": round(rng.uniform(), 3), "c": f"{of}{i}"}).encode()
        for i in range(n)
    ]


def checked(cluster: Any, target: str, k: int = 4) -> list[str]:
    """Return the confidential values that left: each once, in whole classes that share a value."""
    rows = [json.loads(row) for part in cluster.read(target) for row in part]
    assert min(Counter(row["class"] for row in rows).values()) >= k
    seen: dict[str, tuple[float, float]] = {}
    for row in rows:
        assert seen.setdefault(row["class"], (row["a"], row["b"])) == (row["a"], row["b"])
    values = [row["c"] for row in rows]
    assert len(set(values)) == len(values)
    return values


def test_a_stream_runs_from_topic_to_topic(cluster: Any) -> None:
    source, target, dead = cluster.topic(2), cluster.topic(2), cluster.topic()
    for one in (0, 1):
        cluster.send(source, [*tuples(100, f"{one}/"), b"{", b'{"a": "x", "b": 0, "c": "y"}'], one)
    url = cluster.url(source, group=uuid.uuid4().hex, until="end")
    how = Streaming(dead=cluster.url(dead))
    done = run_stream(url, cluster.url(target), RECIPE, how)
    assert done.finished
    assert (done.counts.tally.read, done.counts.tally.released, done.counts.tally.dead) == (204, 200, 4)
    assert sorted(checked(cluster, target)) == sorted(f"{one}/{i}" for one in (0, 1) for i in range(100))
    letters = [json.loads(row) for row in cluster.read(dead)[0]]
    assert sorted((one["partition"], one["place"]) for one in letters) == [(0, 100), (0, 101), (1, 100), (1, 101)]
    assert all("payload" not in one for one in letters)
    again = run_stream(url, cluster.url(target), RECIPE, how)
    assert again.finished
    assert len(checked(cluster, target)) == 200
