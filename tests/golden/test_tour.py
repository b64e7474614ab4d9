"""The losses of tour on the reference files, as they stand on its page; what lowers them may change them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import shoal

MEASURED = {
    ("census.csv", 3): 5.198,
    ("census.csv", 5): 8.148,
    ("census.csv", 10): 13.225,
    ("tarragona.csv", 3): 15.139,
    ("tarragona.csv", 5): 21.432,
    ("tarragona.csv", 10): 31.773,
    ("eia.csv", 3): 0.3739,
    ("eia.csv", 5): 0.7537,
    ("eia.csv", 10): 2.0057,
}


@pytest.mark.parametrize(("name", "k"), MEASURED)
def test_the_loss_is_what_the_page_says(reference_data: Path, name: str, k: int) -> None:
    table: pa.Table = pyarrow.csv.read_csv(reference_data / name)
    quasi = table.column_names
    if name == "eia.csv":
        quasi = ["UTILITYID", *quasi[quasi.index("RESREVENUE") : quasi.index("TOTSALES") + 1]]
    done = shoal.protect(table.select(quasi), {"quasi": quasi, "k": k, "method": "tour", "exact_means": True})
    assert done.readings["il_sse"] == pytest.approx(MEASURED[name, k], rel=2e-3)
    page = (Path(__file__).parents[2] / "docs" / "methods" / "tour.md").read_text(encoding="utf-8")
    assert f"| {MEASURED[name, k]} |" in page
