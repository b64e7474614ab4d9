"""What each stage of ``shoal protect`` costs for a CSV of a million rows: CPU seconds, wall seconds, peak memory.

``python benchmarks/files.py [rows]`` — to reach: reading and writing cost less than partitioning.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from shoal import progress

QUASI = ["a", "b", "c", "d"]


class Clock:
    """Notes the CPU and wall time at which each stage begins."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, float, float]] = []

    def stage(self, name: str) -> None:
        self.marks.append((name, time.process_time(), time.perf_counter()))

    def report(self, done: int, total: int) -> None:
        pass

    def say(self, text: str) -> None:
        print(f"({text})")


def clustered(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    centres, spread = rng.normal(size=(100, 4)), rng.uniform(0.02, 0.3, size=100)
    cluster = rng.integers(100, size=rows)
    points = centres[cluster] + rng.normal(size=(rows, 4)) * spread[cluster, None]
    columns = {name: np.round(points[:, j] * 10_000, 2) for j, name in enumerate(QUASI)}
    return pa.table({"region": np.char.mod("r%02d", cluster), **columns, "score": rng.integers(0, 100, rows)})


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.csv"), Path(folder, "out.csv")
        shoal.write_table(clustered(rows), source)
        print(f"{rows:,} rows, {source.stat().st_size / 1e6:.0f} MB, k = 3, quasi-identifiers {', '.join(QUASI)}")
        for attempt in ("first", "second"):
            clock = Clock()
            with progress.listening(clock):
                done = shoal.protect_file(source, target, {"quasi": QUASI, "k": 3}, force=True)
            clock.stage("end")
            print(f"\n{attempt} run: k = {done.audit.overall.achieved:g}, IL = {done.readings['il_sse']:.4f} %")
            cpu = {}
            for (name, c0, w0), (_, c1, w1) in zip(clock.marks, clock.marks[1:], strict=False):
                cpu[name] = c1 - c0
                print(f"  {name:<10} {c1 - c0:7.2f} s CPU {w1 - w0:7.2f} s wall")
            ratio = (cpu["Read"] + cpu["Write"]) / cpu["Partition"]
            print(f"  read and write / partition = {ratio:.2f} (to reach: < 1)")
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
