"""Mixed tables next to numbers: CPU seconds, peak memory, growth, and the loss of others. Prints as it goes.

    python benchmarks/mixed.py [--quick]

A table has one number and five nominal columns of 2, 16, 14, 7 and c categories, all drawn independently; next to it
stands a table of six numbers. CPU seconds are those of the whole of `protect` in memory with `mdav`, k = 5, after a
small table has had everything compiled; `kernel` is the partition alone. Peak memory is that of a process of its own
that also makes the table. Targets stand beside the figures.

Others are measured on one table of 10⁴ records: µ-ANT's way, which sorts records by their distance from the record with
the least values and cuts every k; and whichever of anonypy and anonypyx is installed (both Mondrian, on columns of type
category). Loss is 100·SSE/SST of the classes, by their means, in the distances in which MDAV forms them.

Adult is measured if SHOAL_DATA is set.
"""

import argparse
import importlib
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import shoal
from shoal.flow.stages.encode import encode
from shoal.flow.stages.read import schema_for
from shoal.kernels.mdav.mdav import mdav
from shoal.points.encoding import Encoding
from shoal.recipe.recipe import Recipe
from shoal.types import Table

K = 5
CASES = [  # records, categories, seconds and megabytes to stay within
    (10_000, 40, None, None),
    (10_000, 400, None, None),
    (10_000, 4_000, 0.5, 350),
    (100_000, 40, None, None),
    (100_000, 400, 4.0, 600),
    (100_000, 4_000, 4.0, 600),
    (1_000_000, 4_000, 120.0, 2_000),
]
GROWTH = 25  # from 10⁵ to 10⁶ records, at most


def mixed(n, c, seed=0):
    """A number and five columns of categories."""
    rng = np.random.default_rng(seed)
    columns = {"number": pa.array(rng.normal(size=n))}
    for count in (2, 16, 14, 7, c):
        names = pa.array([f"v{i:04}" for i in range(count)])
        columns[f"of {count}"] = names.take(pa.array(rng.integers(0, count, n)))
    return pa.table(columns)


def numbers(n, seed=0):
    """Six numbers."""
    rng = np.random.default_rng(seed)
    return pa.table({f"x{j}": pa.array(rng.normal(size=n)) for j in range(6)})


def one_case(n, c):
    """Print the seconds of `protect` and of the kernel, and the peak memory; c = 0: a table of numbers."""
    make = (lambda rows: mixed(rows, c)) if c else numbers
    for rows in (300, 20_000):  # compile both paths
        small = make(rows)
        shoal.protect(small, quasi=small.column_names, k=K, method="mdav")
    table = make(n)
    start = time.process_time()
    shoal.protect(table, quasi=table.column_names, k=K, method="mdav")
    whole = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    x = points_of(table).x
    start = time.process_time()
    mdav(x, K)
    print(whole, time.process_time() - start, peak)


def points_of(table):
    """The points of a table of quasi-identifiers."""
    recipe = Recipe.from_dict({"quasi": table.column_names, "k": K})
    typed = Table(table, schema_for(table, recipe, None))
    return Encoding().encode(encode(typed, typed.schema.names("quasi"), missing="category")[1])


def in_a_process(n, c):
    """Run a case in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--case", str(n), str(c)], check=True, capture_output=True, text=True
    )
    return [float(word) for word in done.stdout.split()[-3:]]


def speed(quick):
    """Print the table of seconds and memory."""
    at = {}
    for n, c, seconds, memory in CASES[: 4 if quick else None]:
        if (n, 0) not in at:
            at[n, 0] = in_a_process(n, 0)
            print(f"{n:>9,} × 6 numbers:      {row(at[n, 0])}", flush=True)
        at[n, c] = in_a_process(n, c)
        target = f"   (target {seconds:g} s, {memory:,} MB)" if seconds else ""
        print(f"{n:>9,} × c = {c:>5,}: {row(at[n, c])}, {at[n, c][0] / at[n, 0][0]:.1f} × numbers{target}", flush=True)
    if not quick:
        growth = at[1_000_000, 4_000][0] / at[100_000, 4_000][0]
        print(f"growth from 10⁵ to 10⁶ at c = 4,000: {growth:.1f}   (target {GROWTH})", flush=True)


def row(figures):
    whole, kernel, peak = figures
    return f"{whole:6.2f} s, kernel {kernel:6.2f} s, {peak:6,.0f} MB"


def lost(x, labels):
    """100·SSE/SST of classes by their means, from the attributes' own distances."""
    return 100.0 * spread(x, labels) / spread(x, np.zeros(len(x), np.int64))


def spread(x, labels):
    """Sum of squared distances from class means."""
    sizes, total = np.bincount(labels), 0.0
    for j in range(x.numbers.shape[1]):
        means = np.bincount(labels, x.numbers[:, j]) / sizes
        total += float(((x.numbers[:, j] - means[labels]) ** 2).sum())
    for a in range(x.codes.shape[1]):  # no taxonomies here
        pairs, counts = np.unique(labels * (int(x.codes[:, a].max()) + 1) + x.codes[:, a], return_counts=True)
        same = np.bincount(pairs // (int(x.codes[:, a].max()) + 1), counts.astype(float) ** 2)
        total += float(((sizes**2 - same) / (2 * sizes)).sum())
    return total


def order_and_cut(x):
    """Classes as µ-ANT forms them."""
    distance = ((x.numbers - x.numbers.min(axis=0)) ** 2).sum(axis=1) + (x.codes != x.codes.min(axis=0)).sum(axis=1)
    labels = np.empty(len(x), np.int64)
    labels[np.argsort(distance, kind="stable")] = np.minimum(np.arange(len(x)) // K, len(x) // K - 1)
    return labels


def mondrian(package, table):
    """Classes of another package's Mondrian."""
    frame = table.to_pandas()
    for name in table.column_names[1:]:
        frame[name] = frame[name].astype("category")
    module = importlib.import_module(f"{package}.mondrian")
    if package == "anonypyx":
        models = importlib.import_module("anonypyx.models")
        parts = module.Mondrian(frame, list(frame.columns)).partition([models.kAnonymity(K)])
    else:
        parts = module.Mondrian(frame, list(frame.columns)).partition(K)
    labels = np.empty(len(frame), np.int64)
    for number, part in enumerate(parts):
        labels[np.asarray(part)] = number
    return labels


def others(n=10_000, c=400):
    """Print loss and seconds of other ways on one table."""
    table = mixed(n, c)
    x = points_of(table).x
    mdav(x, K)
    ways = {"mdav": lambda: mdav(x, K)[0], "order and cut": lambda: order_and_cut(x)}
    for package in ("anonypy", "anonypyx"):
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed: pip install {package}", flush=True)
        else:
            ways[f"{package}, Mondrian"] = lambda package=package: mondrian(package, table)
    print(f"\n{n:,} records, c = {c}, k = {K}:")
    for name, way in ways.items():
        start = time.process_time()
        labels = way()
        seconds = time.process_time() - start
        classes = int(labels.max()) + 1
        print(f"  {name:<20} IL {lost(x, labels):6.2f} %, {classes:,} classes, {seconds:.2f} s", flush=True)


def adult():
    """Print the seconds of Adult with ontologies."""
    sys.path.insert(0, str(Path(__file__).parent))

    import adult as known
    from shoal.flow.protect.protect import protect_frame

    folder = Path(os.environ["SHOAL_DATA"])
    data = known.read(folder)
    trees = {name: known.nested(name, folder / "ontologies") for name in known.QUASI[1:]}
    recipe = Recipe.from_dict({"quasi": known.QUASI, "k": K, "method": "mdav", "taxonomies": trees})
    protect_frame(data, recipe)  # compiles
    start = time.process_time()
    done = protect_frame(data, recipe)
    seconds, loss = time.process_time() - start, done.readings["il_sse"]
    print(f"\nAdult with ontologies, {len(data):,} records: {seconds:.2f} s, il_sse {loss:.2f} %   (target 0.7 s)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="up to 10⁵ records with few categories")
    parser.add_argument("--case", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        one_case(*options.case)
        return
    speed(options.quick)
    others()
    if "SHOAL_DATA" in os.environ:
        adult()


if __name__ == "__main__":
    main()
