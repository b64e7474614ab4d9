"""What the attacks of the gate cost in ``shoal protect``: CPU seconds with and without them, on Parquet.

    python benchmarks/gate.py [rows] [runs]

To reach: at most 25 % more. Runs with and without the attacks take turns, because machines slow down and speed up.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from files import QUASI, clustered
from shoal.flow.protect import protect as flow

RECIPE = {"quasi": QUASI, "confidential": ["score"], "weight": "weight", "k": 5, "method": "mdav"}


def spent(source, target):
    start = time.process_time()
    shoal.protect(source, output=target, force=True, **RECIPE)
    return time.process_time() - start


def main(rows, runs):
    attacks = flow.attack_release
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.parquet"), Path(folder, "out.parquet")
        weight = pa.array(np.random.default_rng(1).integers(100, 999, rows))
        shoal.write_table(clustered(rows).append_column("weight", weight), source)
        spent(source, target)  # compiles
        times = {"with": [], "without": []}
        for _ in range(runs):
            for which, found in times.items():
                flow.attack_release = attacks if which == "with" else lambda *_, **__: ()
                found.append(spent(source, target))
                print(f"{which:>8} attacks: {found[-1]:6.2f} s", flush=True)
    more = [a / b - 1 for a, b in zip(times["with"], times["without"], strict=True)]
    print(f"{rows:,} rows: {statistics.median(more):.0%} more CPU (to reach: at most 25 %)")


if __name__ == "__main__":
    given = [int(float(one)) for one in sys.argv[1:]]
    main(*(given or [1_000_000]), *([5] if len(given) < 2 else []))
