"""Figures of blocks: loss against global MDAV, CPU, memory. Prints as it goes.

    python benchmarks/blocks.py [--quick]

Targets at 10⁷ × 4, k = 5: IL ≤ 1.05 × that of global MDAV, peak memory of the process ≤ 4 × the points.
"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np

from mdav import KINDS

# Each run in a process of its own. VmHWM, not ru_maxrss: the latter starts from what the parent process held.
CHILD = """
import re, sys, time
import numpy as np
points = np.load(sys.argv[1])
method, k, size, rounds = sys.argv[2], *map(int, sys.argv[3:])
from shoal.kernels.refine.blockwise import Memory, partition_in_blocks
from shoal.kernels.mdav.mdav import mdav
from shoal.partition.blocks import Blocks
start, clock = time.process_time(), time.perf_counter()
if method == "mdav":
    labels = mdav(points, k)[0]
else:
    store = Memory(points)
    partition_in_blocks(store, Blocks(k, size, rounds).blockwise(len(points), 0))
    labels = store.labels
cpu, wall = time.process_time() - start, time.perf_counter() - clock
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
sizes = np.bincount(labels)
sse = 0.0
for column in points.T:
    means = np.bincount(labels, column) / sizes
    sse += float(((column - means[labels]) ** 2).sum())
print(sse / points.shape[0] / points.shape[1] * 100, cpu, wall, peak, sizes.min())
"""


def run(file, *arguments):
    command = [sys.executable, "-c", CHILD, file, *map(str, arguments)]
    loss, cpu, wall, peak, least = map(float, subprocess.run(command, check=True, capture_output=True).stdout.split())
    return loss, cpu, wall, peak, int(least)


def table(kind, n, d, cases):
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        points = KINDS[kind](n, d)
        held = points.nbytes
        np.save(file, points)
        del points
        for k, sizes in cases:
            loss, cpu, wall, peak, _ = run(file.name, "mdav", k, 0, 0)
            head = f"{kind:>12.12} {n:9,d} {d:3d} {k:3d}"
            print(
                f"{head}     mdav          {loss:10.6f}   1.000 {cpu:8.1f} {wall:8.1f} {peak / held:8.2f}", flush=True
            )
            for size in sizes:
                for rounds in (0, 1, 2):
                    found, cpu, wall, peak, least = run(file.name, "blocks", k, size, rounds)
                    assert least >= k
                    figures = f"{found:10.6f} {found / loss:7.3f} {cpu:8.1f} {wall:8.1f} {peak / held:8.2f}"
                    print(f"{head} {size:8,d} {rounds:6d}   {figures}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tables of up to 10⁵ records")
    quick = parser.parse_args().quick
    print(f"{'points':>12} {'n':>9} {'d':>3} {'k':>3}     size rounds", end="")
    print("         IL %   ratio      CPU     wall  peak/points")
    sizes = (10_000, 25_000, 50_000) if quick else (25_000, 100_000, 250_000)
    for kind in ("uniform", "clustered"):
        table(kind, 100_000 if quick else 1_000_000, 4, [(3, sizes), (5, sizes), (10, sizes)])
    if not quick:
        table("census_like", 200_000, 13, [(5, (10_000, 50_000))])
        for kind in ("uniform", "clustered"):
            table(kind, 10_000_000, 4, [(5, (100_000,))])


if __name__ == "__main__":
    main()
