"""Latency of a stream: `shoal stream` against micro-batches of Spark Structured Streaming. Prints as it goes.

    python benchmarks/structured_streaming.py [--seconds 60] [--rate 200]

Both read JSON records at the same rate and write JSON Lines. shoal forms classes (k = 10, a delay of 100 records), and
its latency is counted from the record that made a class due. Spark only passes records through a Python function
(`mapInArrow`), without classes, state or audit, and its latency is counted from the record itself. So Spark's figure is
what any operator inside it would take at least.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DELAY, K, PER_FILE = 100, 10, 10


def records(rate: int, seconds: float) -> Iterator[tuple[int, str]]:
    """Records in real time, with their numbers."""
    begin = time.monotonic()
    for number in range(int(rate * seconds)):
        time.sleep(max(0.0, begin + number / rate - time.monotonic()))
        yield number, json.dumps({"x": number * 37 % 1000, "n": number})


def seen_in(path: Path, stop: threading.Event, seen: dict[int, float]) -> None:
    """Store when each record appears in a file."""
    while not path.exists() and not stop.wait(0.001):
        pass
    with path.open() as lines:
        text = ""
        while not stop.is_set():
            text += lines.readline()
            if text.endswith("\n"):
                seen[json.loads(text)["n"]] = time.monotonic()
                text = ""
            else:
                time.sleep(0.001)


def with_shoal(folder: Path, rate: int, seconds: float) -> list[float]:
    """Seconds from the record that makes a class due until the class is in the output file."""
    out, stop = folder / "safe.jsonl", threading.Event()
    came: dict[int, float] = {}
    seen: dict[int, float] = {}
    command = f"shoal stream - -o {out} --quasi x --bounds x=0:1000 --k {K} --delay {DELAY} --keep n"
    feed = subprocess.Popen([sys.executable, "-m", *command.split()], stdin=subprocess.PIPE, text=True)
    watch = threading.Thread(target=seen_in, args=(out, stop, seen))
    watch.start()
    assert feed.stdin is not None
    for number, line in records(rate, seconds):
        feed.stdin.write(line + "\n")
        feed.stdin.flush()
        came[number] = time.monotonic()
    time.sleep(2)
    stop.set()
    watch.join()
    oldest: dict[int, int] = {}
    for line in out.read_text().splitlines():
        found = json.loads(line)
        oldest[found["class"]] = min(found["n"], oldest.get(found["class"], found["n"]))
    feed.stdin.close()
    feed.wait()
    return [seen[n] - came[n + DELAY] for n in oldest.values() if n in seen and n + DELAY in came]


def with_spark(folder: Path, rate: int, seconds: float) -> list[float]:
    """Seconds from a record until the micro-batch that holds it is in an output folder; first batches are left out."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.simplefilter("ignore", FutureWarning)
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    came: dict[int, float] = {}
    done: dict[int, float] = {}
    source = folder / "in"
    source.mkdir()

    def write(frame: DataFrame, batch: int) -> None:
        frame.write.json(str(folder / "out" / str(batch)))
        done[batch] = time.monotonic()

    columns = "x long, n long"
    stream = spark.readStream.schema(columns).json(str(source)).mapInArrow(lambda parts: parts, columns)
    query = stream.writeStream.foreachBatch(write).option("checkpointLocation", str(folder / "state")).start()
    held: list[str] = []
    for number, line in records(rate, seconds):
        held.append(line)
        came[number] = time.monotonic()
        if len(held) == PER_FILE:  # Spark reads files; its latency is counted from the records
            part = folder / f"{number}.json"
            part.write_text("\n".join(held))
            part.rename(source / part.name)
            held = []
    query.processAllAvailable()
    took = [one["durationMs"]["triggerExecution"] for one in query.recentProgress if one["numInputRows"]]
    query.stop()
    spark.stop()
    print(f"  {len(took)} micro-batches, median {statistics.median(took) / 1000:.2f} s each")
    late = []
    for batch in sorted(done)[len(done) // 3 :]:
        lines = [line for part in (folder / "out" / str(batch)).glob("*.json") for line in part.open()]
        late += [done[batch] - came[json.loads(line)["n"]] for line in lines]
    return late


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--rate", type=int, default=200)
    given = options.parse_args()
    for name, run in (("shoal stream", with_shoal), ("Structured Streaming", with_spark)):
        print(name)
        with tempfile.TemporaryDirectory() as folder:
            found = sorted(run(Path(folder), given.rate, given.seconds))
        p95 = found[int(0.95 * len(found))]
        print(f"  {1000 * statistics.median(found):.0f} ms median, {1000 * p95:.0f} ms 95 %, {len(found):,} measured")


if __name__ == "__main__":
    main()
