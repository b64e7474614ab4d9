"""[N14] as docs/papers/n14.md shows it: the rows of its tables, and the figures by which the claims are judged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, groupby
from pathlib import Path
from typing import NamedTuple

import n14
import numpy as np
import pyarrow as pa

import shoal

NAMES = {"mdav": "MDAV", "pcp": "PCP", "zscores": "Zscores", "mic1d": "Mic1D"}
WHOLE = "all nine"  #: one block of all attributes, which the paper does not try
COMPARED = {
    "4": (
        (WHOLE, "mdav", (5, 10)),
        ("correlated", "mdav", (5, 25, 50)),
        ("non-correlated", "mdav", (5, 25, 50)),
        ("correlated", "mic1d", (3000, 4000, 5000)),
    ),
    "5": (
        (WHOLE, "mdav", (5,)),
        ("correlated", "mdav", (5, 15, 25)),
        ("non-correlated", "mdav", (5, 15, 25)),
        ("correlated", "mic1d", (500, 800, 900)),
    ),
}


class Judged(NamedTuple):
    """What a protected file loses, and what a mean k′ hides."""

    il_sse: float  #: in percent
    smallest: int  #: records in the smallest class over all nine attributes
    unique: float  #: records in percent that are unique in three attributes, the mean over all 84 sets of three
    dld: float  #: in percent
    score: float  #: of the paper, the lower the better


def protected(table: str, blocks: str, method: str, k: int, folder: Path) -> np.ndarray:
    """The protected records, in blocks or in one piece."""
    if blocks != WHOLE:
        return n14.masked(table, blocks, method, k, folder)
    original = n14.data(table, folder)
    recipe = {"quasi": original.column_names, "k": k, "method": method, "exact_means": True}
    return n14.matrix(shoal.protect(original, recipe).data)


def judged(table: str, blocks: str, method: str, k: int, folder: Path) -> Judged:
    """Measure a protected file."""
    original, Y = n14.data(table, folder), protected(table, blocks, method, k, folder)
    names = original.column_names
    found = shoal.compare(original, pa.table(dict(zip(names, Y.T, strict=True))), names, measures=["il_sse", "score"])
    unique = []
    for known in combinations(range(len(names)), 3):
        counts = np.unique(Y[:, known], axis=0, return_counts=True)[1]
        unique.append(100 * (counts == 1).sum() / len(Y))
    smallest = np.unique(Y, axis=0, return_counts=True)[1].min()
    return Judged(found["il_sse"], int(smallest), float(np.mean(unique)), found["dld"], found["score"])


def printed_and_ours(folder: Path) -> Iterator[str]:
    """The rows of Tables 4 to 6; figures that come out to the last digit are bold."""
    for (_, _, method, k), row in groupby(n14.cells(), key=lambda cell: cell[:4]):
        shown = []
        for cell in row:
            value = n14.shown(n14.ours(cell, folder), cell.printed)
            shown += [cell.printed, f"**{value}**" if value == cell.printed else value]
        yield f"| {NAMES[method]} | {k:,} | {' | '.join(shown)} |"


def compared(folder: Path) -> Iterator[str]:
    """The rows of the table of losses and risks."""
    for table, rows in COMPARED.items():
        for blocks, method, sizes in rows:
            for k in sizes:
                found = judged(table, blocks, method, k, folder)
                name = NAMES[method] if method == "mic1d" else f"{NAMES[method]}, {blocks}"
                loss, risk = f"{found.il_sse:.2f}", f"{found.smallest} | {found.unique:.1f} | {found.dld:.2f}"
                file = "Water" if table == "5" else "Census"
                yield f"| {file} | {name} | {k:,} | {loss} | {risk} | {found.score:.2f} |"


def main(folder: Path) -> None:
    """Print the losses and risks."""
    print("\nLosses and risks: file, method and blocks, k, il_sse, smallest class, unique records, DLD, score")
    for row in compared(folder):
        print(row, flush=True)
