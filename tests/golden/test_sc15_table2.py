"""[SC15] Table 2: the smallest classes of Algorithm 2 inside Algorithm 1, cell by cell.

Points are standardised with the population deviation; scaled to the range, 81 cells come out instead of 85.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest

import shoal

PRINTED = tomllib.loads((Path(__file__).parent / "sc15_table2.toml").read_text(encoding="utf-8"))
CLASSES_FORMED = "hangs on how many classes Algorithm 2 leaves close, which ties and scaling change; none is printed"
MERGED = "at the smallest t nearly every class is merged, and the order of mergers decides: not printed"
LEFT_CLOSE = "some class of k is close as it was formed, so that the smallest size is k; the printed one is 2k"
MISSED = {
    **{("MCD", k, 0.01): MERGED for k in (2, 5, 10, 15)},
    **{("HCD", k, 0.01): MERGED for k in (2, 5, 10, 15)},
    ("MCD", 2, 0.05): CLASSES_FORMED,
    **dict.fromkeys((("MCD", 2, 0.13), ("HCD", 2, 0.13), ("HCD", 5, 0.05), ("HCD", 30, 0.01)), LEFT_CLOSE),
}
CELLS = [
    pytest.param(
        data,
        int(k),
        t,
        smallest,
        id=f"{data} k={k} t={t}",
        marks=[pytest.mark.xfail(strict=True, reason=MISSED[data, int(k), t])] if (data, int(k), t) in MISSED else [],
    )
    for data, rows in PRINTED["table2"].items()
    for k, pairs in rows.items()
    for t, (smallest, _) in zip(PRINTED["t"], pairs, strict=True)
]


def test_85_of_98_cells_come_out() -> None:
    assert len(CELLS) == 98
    assert len(CELLS) - len(MISSED) == 85


@pytest.mark.parametrize(("data", "k", "t", "smallest"), CELLS)
def test_smallest_class(reference_data: Path, data: str, k: int, t: float, smallest: int) -> None:
    path = reference_data / PRINTED["data"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == PRINTED["sha256"]
    table = pyarrow.csv.read_csv(path)
    X = np.column_stack([table[name].to_numpy().astype(float) for name in PRINTED["quasi"]])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    secret = table[PRINTED["confidential"][data]].to_numpy()
    assert shoal.microaggregate(X, k, method="k_first", confidential=secret, t=t).sizes.min() == smallest
