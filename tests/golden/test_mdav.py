"""The literature's losses of MDAV come out to the last printed digit, through the whole product."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal

FIGURES = tomllib.loads((Path(__file__).parent / "mdav.toml").read_text(encoding="utf-8"))["figure"]
CASES = [(figure, int(k), printed) for figure in FIGURES for k, printed in figure["loss"].items()]


def columns(table: pa.Table, wanted: str) -> list[str]:
    if wanted == "all":
        return table.column_names
    first, last = (table.column_names.index(name) for name in ("RESREVENUE", "TOTSALES"))
    return ["UTILITYID", *table.column_names[first : last + 1]]


@pytest.mark.parametrize(("figure", "k", "printed"), CASES, ids=lambda v: str(v["data"] if isinstance(v, dict) else v))
def test_printed_loss(reference_data: Path, figure: dict, k: int, printed: str) -> None:
    path = reference_data / figure["data"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == figure["sha256"]
    table = pyarrow.csv.read_csv(path)
    quasi = columns(table, figure["columns"])
    done = shoal.protect(table.select(quasi), {"quasi": quasi, "k": k, "method": "mdav", "exact_means": True})
    assert len(quasi) == {"census.csv": 13, "tarragona.csv": 13, "eia.csv": 11}[figure["data"]]
    assert f"{done.readings['il_sse']:.{len(printed.partition('.')[2])}f}" == printed
    assert done.audit.overall.achieved >= k
