"""Streams over Kafka as users run them: the pump, the gate, processes that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shoal.errors import DataError
from shoal.stream.recipe.recipe import StreamRecipe
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


def _command(cluster: Any, source: str, target: str, **options: object) -> list[str]:
    recipe = ["--quasi", "a,b", "--bounds", "a=0:100,b=0:1", "--k", "4", "--delay", "30", "--confidential", "c"]
    ends = [cluster.url(source, **options), "-o", cluster.url(target)]
    return [sys.executable, "-m", "shoal", "stream", *ends, *recipe, "--json"]


def _end(cluster: Any, topic: str) -> int:
    """How many records a topic holds, those of undone transactions and the marks of all of them included."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": cluster.servers, "group.id": "none"})
    try:
        return sum(consumer.get_watermark_offsets(TopicPartition(topic, one), 10)[1] for one in (0, 1))
    finally:
        consumer.close()


def test_nothing_is_lost_and_nothing_leaves_twice_when_processes_are_killed(cluster: Any) -> None:
    source, target, group = cluster.topic(2), cluster.topic(2), uuid.uuid4().hex
    for one in (0, 1):
        cluster.send(source, tuples(1200, f"{one}/", seed=one), one)
    command = _command(cluster, source, target, group=group, until="end", instance="one")
    rng = np.random.default_rng(3)
    kills = 0
    for _ in range(2):
        before = _end(cluster, target)
        running = subprocess.Popen([*command, "--rate", "300"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while running.poll() is None and _end(cluster, target) <= before:
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 0.25))
        finally:
            kills += running.poll() is None
            running.kill()
            running.wait()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    counts = json.loads(done.stdout)
    assert kills
    assert counts["read"] == 2400
    assert counts["released"] + counts["dropped"] == 2400
    assert counts["dropped"] < 8
    assert len(checked(cluster, target)) == counts["released"]


def test_a_process_that_is_told_to_stop_leaves_the_group_and_another_goes_on(cluster: Any) -> None:
    source, target, group = cluster.topic(2), cluster.topic(2), uuid.uuid4().hex
    for one in (0, 1):
        cluster.send(source, tuples(600, f"{one}/", seed=one), one)
    command = [*_command(cluster, source, target, group=group), "--rate", "600"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while running.poll() is None and _end(cluster, target) < 50:
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    out, _ = running.communicate(timeout=15)
    assert running.returncode == 128 + signal.SIGTERM
    stopped = json.loads(out)
    assert not stopped["finished"]
    assert 0 < len(checked(cluster, target)) == stopped["released"]
    run_stream(cluster.url(source, group=group, until="end"), cluster.url(target), RECIPE, Streaming())
    assert len(checked(cluster, target)) >= 1200 - 6


def test_the_broker_goes_away(tmp_path: Any, run: Any) -> None:
    recipe = ["--quasi", "a", "--bounds", "a=0:1", "--k", "2", "--delay", "9"]
    began = time.monotonic()
    ran = run("stream", "kafka://127.0.0.1:1/in?group=g&patience=0.5", "-o", "kafka://127.0.0.1:1/out", *recipe)
    assert ran.code == 5
    assert ran.err.splitlines() == [
        "kafka://127.0.0.1:1: the broker does not answer. Trying for 0.5 seconds.",
        "shoal: kafka://127.0.0.1:1: the broker does not answer. Check that it is running, and the host and port in "
        "the URL; gave up after 0.5 seconds.",
    ]
    assert time.monotonic() - began < 10


@pytest.mark.long
def test_the_broker_stands_still_and_then_dies(own_cluster: Any) -> None:
    cluster, broker = own_cluster
    source, target = cluster.topic(2), cluster.topic(2)
    for one in (0, 1):
        cluster.send(source, tuples(4000, f"{one}/", seed=one), one)
    command = [*_command(cluster, source, target, group="g", patience=4), "--rate", "600"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while running.poll() is None and _end(cluster, target) < 50:
        time.sleep(0.02)
    os.kill(broker, signal.SIGSTOP)
    time.sleep(3)
    os.kill(broker, signal.SIGCONT)
    before = _end(cluster, target)
    while running.poll() is None and _end(cluster, target) < before + 50:
        time.sleep(0.02)
    assert running.poll() is None
    assert len(checked(cluster, target)) >= 50
    os.kill(broker, signal.SIGKILL)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 5
    lines = err.splitlines()
    assert lines[0].endswith("the broker does not answer. Trying for 4 seconds.")
    assert lines[-1].startswith(
        f"shoal: kafka://{cluster.servers}: the broker does not answer. Check that it is running"
    )


@pytest.mark.long
def test_processes_come_and_go(cluster: Any, quick: Any) -> None:
    source, target, group = cluster.topic(4), cluster.topic(4), uuid.uuid4().hex
    command = [*_command(cluster, source, target, group=group, config=quick), "--rate", "500"]
    running: list[subprocess.Popen[bytes]] = []
    sent = 0
    try:
        for turn in range(14):
            for one in range(4):
                cluster.send(source, tuples(100, f"{turn}/{one}/", seed=turn), one)
                sent += 100
            if turn % 2 == 0:
                running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
            if len(running) > 2:
                killed = running.pop(0)
                killed.kill()
                killed.communicate()
            time.sleep(1.5)
        assert all(one.poll() is None for one in running)
    finally:
        for one in running:
            one.terminate()
            assert one.communicate(timeout=20)[1] == b""
    url = cluster.url(source, group=group, config=quick, until="end")
    done = run_stream(url, cluster.url(target), RECIPE, Streaming())
    assert done.counts.tally.read == sent
    assert done.counts.tally.dropped + len(checked(cluster, target)) == sent
    assert done.counts.tally.dropped <= 4 * 3


def test_fields_that_are_learnt_stay_the_same_when_it_goes_on(cluster: Any) -> None:
    source, target, dead = cluster.topic(), cluster.topic(), cluster.topic()
    url, how = cluster.url(source, group=uuid.uuid4().hex, until="end"), Streaming(dead=cluster.url(dead))
    said: list[str] = []
    cluster.send(source, [row[:-1] + b', "pay": 1}' for row in tuples(100)])
    run_stream(url, cluster.url(target), RECIPE, how, say=said.append)
    cluster.send(source, [row[:-1] + b', "email": "ann"}' for row in tuples(20, "new/")] + tuples(50, "more/"))
    done = run_stream(url, cluster.url(target), RECIPE, how, say=said.append)
    assert (done.counts.tally.released, done.counts.tally.dead) == (150, 20)
    assert not any("email" in json.loads(row) for row in cluster.read(target)[0])
    assert "the field 'email', which the recipe does not declare" in json.loads(cluster.read(dead)[0][0])["reason"]
    assert [text for text in said if "as in the first tuples: pay" in text] == said


def test_a_recipe_that_rejects_everything_can_be_corrected(cluster: Any) -> None:
    source, target = cluster.topic(), cluster.topic()
    url = cluster.url(source, group=uuid.uuid4().hex, until="end")
    cluster.send(source, [b"\x00\x00\x00\x00\x07" + row for row in tuples(30)])
    with pytest.raises(DataError, match=r"30 of 30 records were rejected.*Confluent Schema Registry"):
        run_stream(url, cluster.url(target), RECIPE, Streaming())
    cluster.send(source, tuples(100))
    wrong = replace(RECIPE, quasi=("z",), bounds={"z": (0, 1)})
    with pytest.raises(DataError, match=r"130 of 130 records were rejected.*Most frequent reason \(100\)"):
        run_stream(url, cluster.url(target), wrong, Streaming())
    done = run_stream(url, cluster.url(target), RECIPE, Streaming())
    assert (done.counts.tally.released, done.counts.tally.dead) == (100, 30)
    with pytest.raises(DataError, match="started with another"):
        run_stream(url, cluster.url(target), wrong, Streaming())
