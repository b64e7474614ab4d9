"""Lower bounds on the CASC sets come out to the last digit, and lie below the lowest loss seen."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal

FIGURES = tomllib.loads((Path(__file__).parent / "certificate.toml").read_text(encoding="utf-8"))["figure"]
CASES = [
    pytest.param(figure, int(k), bound, id=f"{figure['data']}-{k}", marks=[pytest.mark.long] if int(k) > 3 else [])
    for figure in FIGURES
    for k, bound in figure["bound"].items()
]


def columns(table: pa.Table, wanted: str) -> list[str]:
    if wanted == "all":
        return table.column_names
    first, last = (table.column_names.index(name) for name in ("RESREVENUE", "TOTSALES"))
    return ["UTILITYID", *table.column_names[first : last + 1]]


@pytest.mark.parametrize(("figure", "k", "bound"), CASES)
def test_bound(reference_data: Path, figure: dict, k: int, bound: str) -> None:
    path = reference_data / figure["data"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == figure["sha256"]
    table = pyarrow.csv.read_csv(path)
    quasi = columns(table, figure["columns"])
    done = shoal.protect(table.select(quasi), {"quasi": quasi, "k": k, "exact_means": True}, certify=True)
    certificate = done.certificate
    assert certificate is not None
    assert certificate.how == ("column generation",)
    assert f"{certificate.il_bound:.{len(bound.partition('.')[2])}f}" == bound
    assert certificate.il == pytest.approx(done.readings["il_sse"], rel=1e-9)
    assert certificate.il_bound < figure["lowest_seen"].get(str(k), certificate.il) <= certificate.il
