"""A report appears with the output, or neither does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.errors import ParameterError, ShoalError

RECIPE = {"quasi": ["age", "rent"], "identifier": ["name"], "k": 4, "seed": 77_123}


def people() -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {"name": [f"p{i}" for i in range(60)], "age": rng.integers(18, 90, 60), "rent": rng.normal(size=60)}
    )


def test_of_a_frame(tmp_path: Path) -> None:
    done = shoal.protect(people(), RECIPE)
    inside, outside = tmp_path / "in.html", tmp_path / "out.html"
    done.report(inside)
    done.report(outside, edition="external")
    assert "at least 3 others: the audit found k = 4" in inside.read_text(encoding="utf-8")
    assert "77123" in inside.read_text(encoding="utf-8")
    assert "77123" not in outside.read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="already exists"):
        done.report(inside)
    with pytest.raises(ParameterError, match="edition"):
        done.report(tmp_path / "other.html", edition="public")
    done.report(inside, edition="external", force=True)
    assert inside.read_bytes() == outside.read_bytes()


def test_of_a_file(tmp_path: Path) -> None:
    shoal.write_table(people(), tmp_path / "people.csv")
    written = [tmp_path / "safe.csv", tmp_path / "r.html"]
    shoal.protect_file(tmp_path / "people.csv", written[0], RECIPE, report=written[1])
    page = written[1].read_text(encoding="utf-8")
    assert "people.csv" in page
    assert "safe.csv" in page
    assert str(tmp_path) not in page
    assert "linkability" in page  # a report reads every measure


def test_neither_appears_if_the_table_is_refused(tmp_path: Path) -> None:
    shoal.write_table(people(), tmp_path / "people.csv")
    with pytest.raises(ShoalError):
        shoal.protect_file(
            tmp_path / "people.csv", tmp_path / "safe.csv", {**RECIPE, "k": 61}, report=tmp_path / "r.html"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
