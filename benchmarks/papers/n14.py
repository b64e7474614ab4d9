"""[N14] Tables 4 to 6: every printed figure next to ours, the reading used, and why some do not come out.

The figures, the attributes and the reasons stand in ``tests/golden/n14.toml``, which the golden tests read too.
"""

from __future__ import annotations

import csv
import hashlib
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import measures_n14 as measure
import numpy as np
import pyarrow as pa

import shoal

PAPER = tomllib.loads((Path(__file__).parents[2] / "tests" / "golden" / "n14.toml").read_text(encoding="utf-8"))
COLUMNS = {"4": ("SSE", "1G", "2G", "3G"), "5": ("SSE", "1G", "2G", "3G"), "6": ("IL", "DLD", "ID", "Score")}
READ = {"IL": "il", "DLD": "dld", "ID": "id", "Score": "score"}


class Cell(NamedTuple):
    """One printed figure."""

    table: str
    blocks: str
    method: str
    k: int
    column: str
    printed: str

    @property
    def name(self) -> str:
        """How the list of what comes out calls it."""
        return f"{self.table} {self.blocks} {self.method} {self.k} {self.column}"

    @property
    def comes_out(self) -> bool:
        """Whether it is on the list."""
        return self.name in PAPER["comes_out"]

    @property
    def reason(self) -> str:
        """Why it does not come out."""
        for rule in PAPER["reason"]:
            if all(getattr(self, field) in rule[field] for field in ("table", "method", "column") if field in rule):
                return str(rule["why"])
        raise LookupError(self.name)


def cells() -> Iterator[Cell]:
    """Every printed figure, in the paper's order."""
    for table, halves in PAPER["table"].items():
        for blocks, methods in halves.items():
            for method, rows in methods.items():
                for k, printed in rows.items():
                    for column, figure in zip(COLUMNS[table], printed, strict=True):
                        yield Cell(table, blocks, method, int(k), column, figure)


@cache
def data(table: str, folder: Path) -> pa.Table:
    """The file that a table is about, its nine attributes named a1 … a9."""
    about = PAPER["data"]["water" if table == "5" else "census"]
    path = folder / about["file"]
    if hashlib.sha256(path.read_bytes()).hexdigest() != about["sha256"]:
        raise ValueError(f"{path} is not the file that the figures are about")
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines))
    header = about.get("header") or rows.pop(0)
    whole = [row for row in rows if len(row) == len(header) and "?" not in row]
    places = [header.index(name) for name in about["attributes"]]
    return pa.table({f"a{i + 1}": [float(row[j]) for row in whole] for i, j in enumerate(places)})


def matrix(table: pa.Table) -> np.ndarray:
    return np.column_stack([table.column(name).to_numpy() for name in table.column_names])


@cache
def masked(table: str, blocks: str, method: str, k: int, folder: Path) -> np.ndarray:
    """The protected records, through the product."""
    original = data(table, folder)
    recipe = {"quasi": original.column_names, "k": k, "method": method, "exact_means": True}
    if method == "mic1d":  # one table for both halves: raw values, the paper's last partition
        recipe["set"] = {"scale": "none", "small_last": True}
    else:
        recipe["blocks"] = [[f"a{number}" for number in block] for block in PAPER["known"][blocks]["1G"]]
    return matrix(shoal.protect(original, recipe).data)


@cache
def readings(table: str, blocks: str, method: str, k: int, folder: Path) -> shoal.Readings:
    """What the product's measures read of the protected records."""
    original = data(table, folder)
    names, found = original.column_names, masked(table, blocks, method, k, folder)
    return shoal.compare(original, pa.table(dict(zip(names, found.T, strict=True))), names)


@cache
def ours(cell: Cell, folder: Path) -> float:
    """What comes out."""
    X, Y = matrix(data(cell.table, folder)), masked(*cell[:4], folder)
    if cell.column.endswith("G"):
        return measure.real_anonymity(Y, PAPER["known"][cell.blocks][cell.column])
    if cell.column == "SSE":
        return measure.sse(X, Y)
    found = readings(*cell[:4], folder)
    if "il" in {reading.name for reading in found.readings}:
        return found[READ[cell.column]]
    il = measure.information_loss(X, Y)
    score = measure.score(il, found["dld"], found["id"])
    return {"IL": il, "DLD": found["dld"], "ID": found["id"], "Score": score}[cell.column]


@cache
def interval_disclosure(blocks: str, method: str, k: int, folder: Path) -> tuple[float, float]:
    """ID of a row of Table 6 by both readings: among original ranks, which is ours, and among masked ranks."""
    original = data("6", folder)
    names, found = original.column_names, masked("6", blocks, method, k, folder)
    protected = pa.table(dict(zip(names, found.T, strict=True)))
    one, other = (
        shoal.compare(original, protected, names, measures=["id"], set={"among": among})["id"]
        for among in ("original", "masked")
    )
    return one, other


def shown(value: float, printed: str) -> str:
    """A figure with as many decimals as the printed one."""
    return f"{value:.{len(printed.partition('.')[2])}f}"


def main(folder: Path) -> None:
    """Print every figure, then what does not come out and why."""
    print("[N14] J. Nin, Beyond multivariate microaggregation for large record anonymization\n")
    for name, text in PAPER["reading"].items():
        print(f"Reading, {name}: {text}")
    reasons: dict[str, list[str]] = {}
    row = None
    counted = [0, 0]
    for cell in cells():
        if cell[:4] != row:
            row = cell[:4]
            print(f"\nTable {cell.table}, {cell.blocks:<14} {cell.method:<8} k = {cell.k:<6,}", end="", flush=True)
        value = shown(ours(cell, folder), cell.printed)
        same = value == cell.printed
        counted[same] += 1
        print(f" {cell.column} {cell.printed} {'=' if same else '≠'} {value};", end="", flush=True)
        if cell.column == "ID":
            among_masked = interval_disclosure(*cell[1:4], folder)[1]
            print(f" (original ranks; {shown(among_masked, cell.printed)} among masked ones)", end="", flush=True)
        if same != cell.comes_out:
            print(f" (UNEXPECTED: {cell.name})", end="")
        if not same:
            reasons.setdefault(cell.reason, []).append(cell.name)
    print(f"\n\n{counted[1]} of {sum(counted)} figures come out to the last digit (those of Mic1D are printed twice).")
    print("1G of MDAV is n / number of classes, and comes out for any classes of k; 3G of 1.00 says little either.")
    print("The others, and why not:")
    for reason, names in reasons.items():
        print(f"\n- {reason}\n  ({len(names)}) {'; '.join(names)}")
