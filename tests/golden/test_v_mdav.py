"""The losses that another V-MDAV found come out to the last digit, through the whole product."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal

FIGURES = tomllib.loads((Path(__file__).parent / "v_mdav.toml").read_text(encoding="utf-8"))["figure"]
CASES = [(figure, int(k), *found) for figure in FIGURES for k, found in figure["loss"].items()]


def columns(table: pa.Table, wanted: str) -> list[str]:
    if wanted == "all":
        return table.column_names
    first, last = (table.column_names.index(name) for name in ("RESREVENUE", "TOTSALES"))
    return ["UTILITYID", *table.column_names[first : last + 1]]


@pytest.mark.parametrize(
    ("figure", "k", "gamma", "found"), CASES, ids=lambda v: str(v["data"] if isinstance(v, dict) else v)
)
def test_found_loss(reference_data: Path, figure: dict, k: int, gamma: float, found: str) -> None:
    path = reference_data / figure["data"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == figure["sha256"]
    table = pyarrow.csv.read_csv(path)
    quasi = columns(table, figure["columns"])
    recipe = {"quasi": quasi, "k": k, "method": "v_mdav", "set": {"gamma": gamma}, "exact_means": True}
    done = shoal.protect(table.select(quasi), recipe)
    assert f"{done.readings['il_sse']:.{len(found.partition('.')[2])}f}" == found
    assert done.audit.overall.achieved >= k
