"""Measure streams over Kafka, with a broker of our own: tuples for each second of CPU, and what stands beside offsets.

    python benchmarks/kafka.py --tuples 100000

CPU seconds are those of the process that runs the stream, librdkafka's threads included; the broker's are not. Times do
not contain the start: the stream is measured from the first record to the last.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np

RECIPE: dict[str, Any] = {"quasi": ["a", "b"], "bounds": {"a": [0, 100], "b": [0, 1]}, "k": 10}


def cluster() -> Any:
    path = Path(__file__).parent / "arenas" / "kafka.py"
    spec = importlib.util.spec_from_file_location("arena", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.cluster()


def tuples(count: int) -> list[bytes]:
    points = np.random.default_rng(0).random((count, 2))
    return [b'{"id": %d, "a": %.4f, "b": %.4f}' % (i, 100 * a, b) for i, (a, b) in enumerate(points.tolist())]


def measure(broker: Any, records: list[bytes], delay: int, partitions: int) -> dict[str, Any]:
    import shoal
    from shoal.stream.channels import _kafka_link as link

    source, target = broker.topic(partitions), broker.topic(partitions)
    for one in range(partitions):
        broker.send(source, records[one::partitions], one)
    sizes: list[int] = []
    whole = link.fitting

    def fitting(*given: Any) -> str:
        text = whole(*given)
        sizes.append(len(text))
        return text

    began: list[tuple[float, float]] = []
    first = link.KafkaLink.fetch

    def fetch(self: Any, most: int, seconds: float) -> Any:
        incoming = first(self, most, seconds)
        if incoming is not None and not began:
            began.append((time.perf_counter(), time.process_time()))
        return incoming

    link.fitting, link.KafkaLink.fetch = fitting, fetch
    try:
        url = broker.url(source, group=uuid.uuid4().hex, until="end")
        done = shoal.run_stream(url, broker.url(target), {**RECIPE, "delay": delay})
        wall, cpu = time.perf_counter() - began[0][0], time.process_time() - began[0][1]
    finally:
        link.fitting, link.KafkaLink.fetch = whole, first
    assert done.counts.tally.released + done.counts.tally.dropped == len(records)
    return {
        "delay": delay,
        "partitions": partitions,
        "per CPU second": round(len(records) / cpu),
        "per second": round(len(records) / wall),
        "cursors": len(sizes),
        "characters beside an offset": f"{int(np.median(sizes))}, at most {max(sizes)}",
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tuples", type=int, default=100_000)
    asked.add_argument("--delay", type=int, action="append")
    options = asked.parse_args()
    broker, records = cluster(), tuples(options.tuples)
    measure(broker, records[:2000], 100, 1)  # compiles
    for delay in options.delay or (100, 10_000):
        for partitions in (1, 2):
            print(measure(broker, records, delay, partitions), flush=True)


if __name__ == "__main__":
    main()
