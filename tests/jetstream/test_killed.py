"""Processes of ``shoal stream`` over NATS, killed at random moments: nothing lost, nothing twice, no broken class."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any

K, N = 4, 6000
OPTIONS = ["--quasi", "a,b", "--bounds", "a=0:100,b=0:1", "--k", str(K), "--delay", "60"]


def tuples(n: int) -> list[bytes]:
    rng = random.Random(7)
    made = [{"id": i, "a": round(100 * rng.random(), 3), "b": round(rng.random(), 4)} for i in range(n)]
    return [json.dumps(one).encode() for one in made]


def shoal(*arguments: str) -> subprocess.Popen[str]:
    env = {**os.environ, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "shoal", "stream", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def run(*arguments: str) -> tuple[int, str, str]:
    with shoal(*arguments) as process:
        out, error = process.communicate(timeout=120)
    return process.returncode, out, error


def exactly_once(broker: Any, n: int) -> None:
    """Every tuple left in one class of at least k, all of whose quasi-identifiers are equal."""
    classes = broker.released("OUT")
    assert all(len(members) >= K for members in classes)
    assert all(len({(one["a"], one["b"]) for one in members}) == 1 for members in classes)
    times = Counter(one["id"] for members in classes for one in members)
    assert max(times.values()) == 1
    assert len(times) == n


def test_kill_9_at_random_moments(broker: Any) -> None:
    broker.make("IN")
    broker.publish("IN", tuples(N))
    ends = [broker.at("IN") + "?until=end", "-o", broker.at("OUT"), *OPTIONS]
    rng, kills, left = random.Random(11), 0, []
    while kills < 10:
        with shoal(*ends, "--rate", "2500") as process:
            for _ in range(600):  # until it is at work: the kill must hit a stream that runs
                if state(broker) not in (None, *left[-1:]) or process.poll() is not None:
                    break
                time.sleep(0.02)
            time.sleep(0.12 * rng.random())
            process.kill()
        kills += process.returncode == -signal.SIGKILL
        left.append(state(broker))
        if process.returncode == 0:
            break
    assert kills >= 10
    code, out, error = run(*ends, "--json")
    assert code == 0, error
    found = json.loads(out)
    assert (found["read"], found["released"], found["dropped"]) == (N, N, 0)
    exactly_once(broker, N)


def state(broker: Any) -> int | None:
    """The sequence number of the last state."""
    found = broker.api(f"STREAM.MSG.GET.{broker.name('OUT')}", last_by_subj=f"{broker.name('OUT')}.state")
    return found.get("message", {}).get("seq")
