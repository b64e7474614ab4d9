"""Median and trimmed mean: equal to their oracles, rounded as means are, and robust where means are not."""

from __future__ import annotations

import runpy
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.points.datetime import Datetime
from shoal.points.numeric import Numeric

ORACLE = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "middle.py"))
TRIMS = (0.1, 0.2, 0.25, 0.3, 0.49)


def oracle(values: list[float], trim: float, weights: list[float] | None) -> float:
    found = ORACLE["median"](values, weights) if trim == 0.5 else ORACLE["trimmed_mean"](values, trim, weights)
    return float(found)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trim", [*TRIMS, 0.5])
@pytest.mark.parametrize("decimals", [0, 1, 15])
def test_classes_equal_the_oracle_in_any_row_order(trim: float, weighted: bool, decimals: int) -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        n = int(rng.integers(1, 40))
        values = np.round(rng.normal(0, 3, n), decimals)  # few decimals: many ties
        labels = np.unique(rng.integers(0, 4, n), return_inverse=True)[1]
        weights = rng.integers(0, 4, n).astype(float) if weighted else None  # whole numbers: exact halves occur
        found = Numeric.encode("x", pa.chunked_array([values])).centroid(labels, weights, resolution=None, trim=trim)
        for label in np.unique(labels):
            own = labels == label
            share = None if weights is None else weights[own].tolist()
            assert found.to_numpy()[own] == pytest.approx(
                oracle(values[own].tolist(), trim, share), rel=1e-13, abs=1e-14
            )
        order = rng.permutation(n)
        again = Numeric.encode("x", pa.chunked_array([values[order]])).centroid(
            labels[order], None if weights is None else weights[order], resolution=None, trim=trim
        )
        assert again.to_pylist() == found.take(pa.array(order)).to_pylist()


def test_moments_beyond_the_digits_of_a_float_are_ordered_by_their_ticks() -> None:
    ticks = pa.array([2**60 + 2, 2**60, 2**60 + 1]).cast(pa.timestamp("ns"))
    found = Datetime.encode("at", pa.chunked_array([ticks])).centroid(np.zeros(3, int), None, resolution=None, trim=0.5)
    assert found.cast(pa.int64()).to_pylist() == [2**60 + 1] * 3


def test_every_kind_is_released_as_its_page_says() -> None:
    table = pa.table(
        {
            "pay": [1.5, 2.5, 100.0, 3.5],
            "age": [30, 31, 90, 33],
            "born": [date(1990, 1, day) for day in (1, 2, 31, 4)],
            "school": ["low", "low", "high", "mid"],
            "work": ["cook", "cook", "nurse", "baker"],
            "rooms": [None, 2, 4, 9],
        }
    )
    recipe = {"quasi": table.column_names, "k": 4, "orders": {"school": ["low", "mid", "high"]}}
    expected = {
        "median": [3.0, 32, date(1990, 1, 3), "low", "cook", 4],
        "trimmed_mean": [3.0, 32, date(1990, 1, 3), "low", "cook", 5],
    }
    for release, values in expected.items():
        trim = {"set": {"trim": 0.25}} if release == "trimmed_mean" else {}
        done = shoal.protect(table, {**recipe, **trim, "release": release})
        assert list(done.data.to_pylist()[0].values()) == values
        assert done.audit.holds
        assert done.data.num_rows == 4


def test_an_outlier_moves_the_mean_only_and_the_mean_has_the_least_sse() -> None:
    values = np.random.default_rng(3).lognormal(0, 1.5, 200)
    table = pa.table({"pay": values})
    lost = {}
    for release in ("centroid", "trimmed_mean", "median"):
        done = shoal.protect(table, quasi=["pay"], k=10, method="mdav", release=release, exact_means=True)
        read = done.readings.to_dict()
        assert read["sse_partition"] == pytest.approx(lost.get("centroid", (read["sse"],))[0])
        lost[release] = read["sse"], float(np.abs(values - done.data["pay"].to_numpy()).sum())
        assert done.audit.holds
    assert lost["centroid"][0] < lost["trimmed_mean"][0] < lost["median"][0]
    assert lost["median"][1] < lost["centroid"][1]


@pytest.mark.parametrize("release", ["median", "trimmed_mean"])
def test_methods_that_make_values_and_engines_for_large_tables_are_refused(release: str, tmp_path: Path) -> None:
    table = pa.table({"pay": np.arange(20.0)})
    with pytest.raises(shoal.ParameterError, match="this method computes them itself"):
        shoal.protect(table, quasi=["pay"], k=3, method="mic1d", release=release)
    (tmp_path / "in.csv").write_text("pay\n" + "\n".join(map(str, range(20))) + "\n")
    with pytest.raises(shoal.ParameterError, match="release must be centroid"):
        shoal.protect(tmp_path / "in.csv", output=tmp_path / "out.csv", quasi=["pay"], release=release, engine="disk")
    with pytest.raises(shoal.ParameterError, match="trim"):
        shoal.protect(table, quasi=["pay"], release="trimmed_mean", set={"trim": 0.5})
