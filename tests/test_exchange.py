"""The exchange rule: if two members of a class change places in the input, every published byte is the same."""

from __future__ import annotations

import runpy
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal

made = runpy.run_path(str(Path(__file__).parent / "exchange.py"))
Case, METHODS, RELEASES, FLAVOURS, EXTRAS = (made[n] for n in ("Case", "METHODS", "RELEASES", "FLAVOURS", "EXTRAS"))
FORMATS = (".csv", ".parquet", ".arrow", ".xlsx", ".sav", ".dta")
_PER_PAIR = 6  # tables of each method and release
_EXCHANGES = 3  # of each table
_LEAST = 500  # exchanges in all


def cases(method: str) -> list[Any]:
    """Return cases of a method: all releases, and pairwise flavours, extras and sizes."""
    found = []
    for r, release in enumerate(RELEASES):
        for i in range(_PER_PAIR):
            m = METHODS.index(method)
            flavour, extra = FLAVOURS[(m + i) % len(FLAVOURS)], EXTRAS[(m + r + 2 * i) % len(EXTRAS)]
            found.append(Case(method, release, flavour, extra, k=2 + (i + r) % 3, n=24 + i, seed=100 * m + 10 * r + i))
    return found


def published(case: Any, table: pa.Table, folder: Path) -> tuple[Any, dict[str, bytes]]:
    """Protect a table in memory, and return all that is published of it."""
    with made["fixed_randomness"]():
        done = shoal.protect(table, case.recipe)
        done.evidence(folder / "evidence.json", force=True)
    if case.release == "anatomy":  # the first table has the people as they were
        found = {"first table, sorted": made["as_rows"](done.data), "second table": made["as_bytes"](done.confidential)}
    else:
        found = {"data": made["as_bytes"](done.data), "evidence": (folder / "evidence.json").read_bytes()}
    return done, found


def may_differ(case: Any, done: Any) -> bool:
    """Tell whether classes may depend on the order of rows: equal records, ties of MDAV, or several blocks."""
    equal = case.flavour in ("duplicates", "categories")
    several = len(done.partition.blocks) > 1 and case.extra in ("subjects", "households")
    return equal or case.method == "mdav" or several


counted: dict[str, int] = {}


@pytest.mark.parametrize("method", METHODS)
def test_an_exchange_within_a_class_changes_nothing_that_is_published(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(METHODS.index(method))
    compared = skipped = 0
    for case in cases(method):
        table = made["table_of"](case)
        try:
            done, before = published(case, table, tmp_path)
        except shoal.ParameterError:  # a combination that is refused
            continue
        for names, i, j in islice(made["pairs"](table, done, rng), _EXCHANGES):
            again, after = published(case, made["exchanged"](table, made["moved"](case, names), i, j), tmp_path)
            if not made["same_classes"](done, again):
                assert may_differ(case, again), case
                skipped += 1
                continue
            assert [name for name in before if before[name] != after[name]] == [], (case, i, j)
            compared += 1
    assert compared >= _LEAST / len(METHODS) * 0.5
    assert skipped <= compared / 3
    counted[method] = compared
