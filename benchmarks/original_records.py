"""What ``claim = original`` costs: il_sse at ε = 1 by records and attributes, each cell at its best k.

    python benchmarks/original_records.py

Attributes are whole numbers from 0 to 100, the declared bounds, with mean 50, a standard deviation of 10 and
correlations of ½. k is n/2, n/4, n/8 …, until five in a row are no better: strips change with k, so the loss has
several minima. Losses are means over three seeds of ``not_private_seed``, of a million records one. If SHOAL_DATA is
set, attributes of Census follow, with bounds from 0 to 1.5 times the largest value, which are not private.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import shoal

RECORDS = (1_000, 10_000, 100_000, 1_000_000)
ATTRIBUTES = (1, 2, 3, 4, 8, 13)
CENSUS = (1, 2, 4, 13)
EPSILON = 1.0
SEEDS = 3
PATIENCE = 5
MOST = 4_000_000  #: values of a table; larger ones are left out


def people(n: int, attributes: int) -> pa.Table:
    """Records with one factor in common."""
    rng = np.random.default_rng(1)
    values = rng.standard_normal((n, attributes)) + rng.standard_normal((n, 1))
    whole = (50 + 10 * values / np.sqrt(2)).round().clip(0, 100).astype(int)
    return pa.table({f"a{i + 1}": column for i, column in enumerate(whole.T)})


def loss(table: pa.Table, bounds: dict[str, list[float]], k: int) -> float:
    """il_sse in percent, the mean over seeds."""
    names = table.column_names
    recipe = {
        "quasi": names,
        "k": k,
        "method": "insensitive",
        "release": "laplace",
        "epsilon": EPSILON,
        "claim": "original",
        "kinds": dict.fromkeys(names, "integer"),
        "bounds": bounds,
    }
    seeds = range(SEEDS if table.num_rows < RECORDS[-1] else 1)
    runs = (shoal.protect(table, {**recipe, "set": {"not_private_seed": seed}}) for seed in seeds)
    return float(np.mean([done.readings["il_sse"] for done in runs]))


def best(table: pa.Table, bounds: dict[str, list[float]]) -> tuple[float, int]:
    """The least loss, and its k."""
    found: list[tuple[float, int]] = []
    k = table.num_rows // 2
    while k >= 2 and (not found or len(found) - found.index(min(found)) <= PATIENCE):
        found.append((loss(table, bounds, k), k))
        k //= 2
    return min(found)


def main() -> None:
    """Print both tables."""
    print(f"| Records | {' | '.join(map(str, ATTRIBUTES))} |\n|{'---|' * (len(ATTRIBUTES) + 1)}")
    for n in RECORDS:
        print(f"| {n:,} |", end="", flush=True)
        for attributes in ATTRIBUTES:
            if n * attributes > MOST:
                print(" – |", end="")
                continue
            table = people(n, attributes)
            value, k = best(table, {name: [0, 100] for name in table.column_names})
            print(f" {value:,.1f} ({n // k}) |", end="", flush=True)
        print()
    if "SHOAL_DATA" in os.environ:
        census = pyarrow.csv.read_csv(Path(os.environ["SHOAL_DATA"]) / "census.csv")
        for attributes in CENSUS:
            table = census.select(census.column_names[:attributes])
            bounds = {name: [0.0, 1.5 * max(table[name].to_pylist())] for name in table.column_names}
            value, k = best(table, bounds)
            print(f"Census, the first {attributes}: {value:,.1f} at k = {k}, {loss(table, bounds, 25):,.1f} at k = 25")


if __name__ == "__main__":
    main()
