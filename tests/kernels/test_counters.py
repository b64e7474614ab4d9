"""Counters of kernels have names: `counts[REMAINING]`, not `counts[0]`."""

from __future__ import annotations

import re
from pathlib import Path

import shoal.kernels

FOLDER = Path(shoal.kernels.__file__).parent
NUMBERED = re.compile(r"\b(?:\w+\.)?(?:counts|work|rebuilds|state|ends|ring|sums|price|whole)\[\d+[,\]]")
LISTS = {  # of many entries of one kind; the first is not a counter itself
    "refine/recombine.py": {"sums[0]", "sums[1]"},
    "closeness/k_first.py": {"e.work[0]"},
    "stream/excess.py": {"counts[0]"},
    "stream/nearest.py": {"counts[0]", "counts[1]"},
}


def test_no_counter_is_numbered() -> None:
    found = {
        path.relative_to(FOLDER).as_posix(): set(NUMBERED.findall(path.read_text(encoding="utf-8")))
        for path in FOLDER.rglob("*.py")
    }
    assert {name: numbered for name, numbered in found.items() if numbered} == LISTS
