"""What methods of streams lose against `nearest`, how fast they are, and what demands cost.

    python benchmarks/stream_methods.py [loss] [speed] [demands]

Needs the CASC files and Adult, through SHOAL_DATA. Coordinates are scaled to [0, 1] by the range of the whole file.
Speeds are tuples for each CPU second, compilation aside.
"""

import importlib.util
import os
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.csv

from shoal import registry
from shoal.stream.engine.buffer import Core
from shoal.stream.recipe.recipe import StreamRecipe
from shoal.types.stream import Space, Waiting

HOME = Path(__file__).parents[1]
DELAYS, SIZES = (50, 100, 500), (3, 5, 10)


def read(name):
    return pyarrow.csv.read_csv(Path(os.environ["SHOAL_DATA"]) / f"{name}.csv")


def scaled(x):
    low, high = x.min(axis=0), x.max(axis=0)
    return (x - low) / np.where(high > low, high - low, 1.0)


def streams():
    """Return points of each stream, in the order of the file or of the generator."""
    rng = np.random.default_rng(1)
    eia = read("eia")
    wanted = eia.column_names[eia.column_names.index("RESREVENUE") :]
    found = {
        name: scaled(np.column_stack([c.to_numpy().astype(float) for c in table.columns]))
        for name, table in (
            ("Census", read("census")),
            ("Tarragona", read("tarragona")),
            ("EIA", eia.select(wanted)),
        )
    }
    found["uniform"] = rng.random((5000, 2))
    centres = rng.random((30, 3))
    found["clustered"] = np.clip(centres[rng.integers(0, 30, 5000)] + rng.normal(0, 0.03, (5000, 3)), 0, 1)
    return found


def run(method, x, k, delay):
    """Return the labels of a whole stream."""
    n, d = x.shape
    forming = registry.load("stream.partition", method)().begin(Space(("x",) * d, float(d)), k, delay, 0.0)
    at = np.arange(n)
    return forming.advance(Waiting(x, at, at, np.empty((n, 0), np.int64), old=0), n + 1).labels


def sse(x, labels):
    """Return the SSE of the tuples that left, for each of them."""
    left = labels >= 0
    own, y = labels[left], x[left]
    sums = np.stack([np.bincount(own, column) for column in y.T], axis=1)
    return ((y - (sums / np.bincount(own)[:, None])[own]) ** 2).sum() / len(y)


def loss():
    print("SSE per released tuple, over that of nearest; the most dropped at the end of a stream")
    print("| Stream | δ | " + " | ".join(f"look_ahead, k = {k} | castle, k = {k}" for k in SIZES) + " |")
    ratios = {"look_ahead": [], "castle": []}
    most = 0
    for name, x in streams().items():
        for delay in DELAYS:
            cells = []
            for k in SIZES:
                usual = sse(x, run("nearest", x, k, delay))
                for method, found in ratios.items():
                    labels = run(method, x, k, delay)
                    most = max(most, int((labels == -2).sum()))
                    found.append(sse(x, labels) / usual)
                    cells.append(f"{found[-1]:.3f}")
            print(f"| {name} | {delay} | " + " | ".join(cells) + " |", flush=True)
    for method, found in ratios.items():
        print(f"{method}: {np.mean(found):.3f} on average over {len(found)}, {min(found):.3f} to {max(found):.3f}")
    print(f"most dropped: {most}")


def speed():
    x = np.random.default_rng(0).random((100_000, 2))
    for method in ("nearest", "look_ahead", "castle"):
        run(method, x[:500], 5, 100)
        for k in SIZES:
            begin = time.process_time()
            run(method, x, k, 100)
            print(
                f"{method}: k = {k}, δ = 100, d = 2: {len(x) / (time.process_time() - begin):,.0f} tuples/s", flush=True
            )
    spec = importlib.util.spec_from_file_location("oracle", HOME / "tests" / "oracles" / "stream_castle.py")
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    n, at = 2000, np.arange(2000)
    begin = time.process_time()
    oracle.castle(Waiting(x[:n], at, at, np.empty((n, 0), np.int64), old=0), 5, 100, 0.0)
    plain = n / (time.process_time() - begin)
    print(f"castle in plain Python (the transcription): {plain:,.0f} tuples/s; in Python elsewhere about 22")


def demands():
    adult, census = read("adult"), read("census")
    jobs = sorted(set(adult["occupation"].to_pylist()))
    people = {
        "quasi": ["age", "education-num", "hours-per-week"],
        "bounds": {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)},
        "confidential": ["occupation"],
        "categories": {"occupation": jobs},
    }
    taxes = {
        "quasi": ["TAXINC", "POTHVAL"],
        "bounds": {
            n: (min(census[n].to_pylist()), max(census[n].to_pylist())) for n in ("TAXINC", "POTHVAL", "FEDTAX")
        },
        "confidential": ["FEDTAX"],
    }
    wishes = [{}, {"require": {"p": 3}}, {"require": {"l_entropy": 3}}, {"t": 0.4}, {"t": 0.2}, {"t": 0.1}]
    print("| Data | Method | Demand | Lost, over no demand | Dropped | Tuples/s |")
    for name, table, said in (("Adult", adult, people), ("Census", census, taxes)):
        columns = {field: table[field].to_pylist() for field in (*said["quasi"], *said["confidential"])}
        for method in ("nearest", "look_ahead"):
            usual = None
            for wish in wishes:
                recipe = StreamRecipe(**said, **wish, k=5, delay=100, method=method)
                Core(recipe).take(range(300), {field: cells[:300] for field, cells in columns.items()})
                core, begin = Core(recipe), time.process_time()
                core.take(range(len(table)), columns)
                core.flush()
                seconds, tally = time.process_time() - begin, core.tally
                lost = tally.lost / max(tally.released, 1)
                usual = usual or lost
                told = ", ".join(f"{key} = {value}" for key, value in wish.items()) or "none"
                print(
                    f"| {name} | {method} | {told} | {lost / usual:.2f} | {tally.dropped} of {len(table)} | "
                    f"{len(table) / seconds:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    for part in sys.argv[1:] or ("loss", "speed", "demands"):
        {"loss": loss, "speed": speed, "demands": demands}[part]()
