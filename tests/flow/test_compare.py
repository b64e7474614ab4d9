"""Comparing a masked table with its original: every kind, missing values, and categories that were not there before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal

QUICK = ("il_sse", "mae", "mse", "sse")  # what protect reads

ORDER = ["low", "middle", "high"]
TREE = {"lungs": ["flu", "cough"], "belly": {"acid": ["ulcer"], "other": ["gastritis", "colic"]}}
ILLS = ["flu", "cough", "ulcer", "gastritis", "colic"]
NAMES = ["age", "born", "school", "ill", "sex"]
MEANT: dict[str, Any] = {"taxonomies": {"ill": TREE}, "orders": {"school": ORDER}}


def people(seed: int, n: int = 30, lacking: float = 0.2) -> pa.Table:
    """Records of every kind, some of whose values are missing."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": pa.array(rng.integers(18, 80, n)),
        "born": pa.array([date(1950, 1, 1) + timedelta(int(days)) for days in rng.integers(0, 20_000, n)]),
        "school": pa.array(rng.choice(ORDER, n).tolist()),
        "ill": pa.array(rng.choice(ILLS, n).tolist()),
        "sex": pa.array(rng.choice(["f", "m"], n).tolist()),
    }
    gone = {name: rng.random(n) < lacking for name in columns}
    return pa.table({name: cells.take(pa.array(np.arange(n), mask=gone[name])) for name, cells in columns.items()})


@settings(max_examples=12)
@given(st.integers(0, 99), st.sampled_from(["leaf", "node", "ancestor"]), st.sampled_from([0.0, 0.2, 0.6]))
def test_is_the_loss_that_protect_found(seed: int, categories: str, lacking: float) -> None:
    before = people(seed, lacking=lacking)
    done = shoal.protect(before, {"quasi": NAMES, "k": 3, "set": {"categories": categories}, **MEANT})
    read = shoal.compare(before, done.data, NAMES, **MEANT, measures=QUICK)
    assert {name: read[name] for name in QUICK} == pytest.approx(
        {name: done.readings[name] for name in QUICK}, rel=1e-12
    )
    assert shoal.compare(before, before, NAMES, **MEANT)["sse"] == 0


@pytest.mark.parametrize("release", ["medoid", "swap"])
def test_is_the_loss_of_cells_that_changed_places(release: str) -> None:
    before = people(1)
    done = shoal.protect(before.to_pandas(), {"quasi": ["ill", "sex", "school"], "k": 4, "release": release, **MEANT})
    read = shoal.compare(before.to_pandas(), done.data, ["ill", "sex", "school"], **MEANT, measures=QUICK)
    assert {name: read[name] for name in QUICK} == pytest.approx(
        {name: done.readings[name] for name in QUICK}, rel=1e-12
    )


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_is_the_loss_of_a_file(name: str, tmp_path: Path, run: Callable) -> None:
    import json

    pq.write_table(people(2), tmp_path / "in.parquet")
    (tmp_path / "ill.csv").write_text("flu;lungs;*\ncough;lungs;*\nulcer;belly;*\ngastritis;belly;*\ncolic;belly;*\n")
    meant = {"taxonomies": {"ill": str(tmp_path / "ill.csv")}, "orders": {"school": ORDER}}
    recipe = {"quasi": NAMES, "k": 3, "set": {"categories": "node"}, **meant}
    done = shoal.protect_file(tmp_path / "in.parquet", tmp_path / name, recipe)
    read = shoal.compare_files(tmp_path / "in.parquet", tmp_path / name, NAMES, **meant, measures=QUICK)
    assert {name: read[name] for name in QUICK} == pytest.approx(
        {name: done.readings[name] for name in QUICK}, rel=1e-9
    )
    ran = run(
        *(
            "compare",
            tmp_path / "in.parquet",
            tmp_path / name,
            "--columns",
            ",".join(NAMES),
            "--json",
            "--measures",
            ",".join(QUICK),
        ),
        *("--order", "school=low,middle,high", "--taxonomy", f"ill={tmp_path / 'ill.csv'}"),
    )
    assert json.loads(ran.out) == read.to_dict()


@pytest.mark.parametrize(
    ("before", "after", "sse"),
    [
        (["f", "m", "f", "m"], ["f", "m", "x", "y"], 2.0),  # other categories: 1 away, as all are
        (["f", "m", "f", "m"], ["*", "*", "f", "m"], 1.0),  # above both: half as far
        (["f", "m", "f", "m"], [None, "m", None, "m"], 2.0),
        (["f", "m", None, "m"], ["f", "m", "x", None], 2.0),
        (["f", "f", "f", None], [None, None, None, None], 3.0),
        ([1.0, -1.0, 1.0, -1.0], [None, -1.0, 1.0, -1.0], 2.0),  # at the mean, and 1 away
        ([1.0, -1.0, 1.0, -1.0], [None] * 4, 8.0),
        ([1.0, -1.0, None, None], [1.0, -1.0, 1.0, None], 2.0),
    ],
)
def test_what_only_one_of_the_tables_has_is_measured(before: list[Any], after: list[Any], sse: float) -> None:
    after_cells = pa.array(after, pa.string() if isinstance(before[0], str) else pa.float64())
    read = shoal.compare(pa.table({"x": pa.array(before)}), pa.table({"x": after_cells}), ["x"])
    assert read["sse"] == pytest.approx(sse)


def test_groups_are_as_far_as_their_taxonomy_says() -> None:
    before, after = pa.table({"x": ["flu", "flu", "flu"]}), pa.table({"x": ["lungs", "*", "elsewhere"]})
    read = shoal.compare(before, after, ["x"], taxonomies={"x": TREE})
    assert read["sse"] == pytest.approx(1 / 6 + 1 / 2 + 1)  # a height of 3: half the path over it


def test_ranks_that_are_no_categories_are_refused_without_showing_them() -> None:
    before = pd.DataFrame({"x": [1, 2, 3]})
    with pytest.raises(shoal.DataError, match="every value must be one of its 3 ordered categories; 1 of 3"):
        shoal.compare(before, pd.DataFrame({"x": [1.0, 2.5, 3.0]}), ["x"], kinds={"x": "ordinal"})
    read = shoal.compare(before, pd.DataFrame({"x": [2.0, 2.0, 3.0]}), ["x"], kinds={"x": "ordinal"})
    assert read["sse"] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("after", "fault"),
    [
        (pa.array(["SECRET", "b"]), "cannot be read as one"),
        (pa.array([True, False]), "must hold numbers"),
        (pa.array([[1], [2]]), "must hold numbers"),
    ],
)
def test_masked_values_of_another_kind_are_refused_without_showing_them(after: pa.Array, fault: str) -> None:
    with pytest.raises(shoal.ShoalError, match=fault) as caught:
        shoal.compare(pa.table({"x": [1.5, 2.5]}), pa.table({"x": after}), ["x"])
    assert "SECRET" not in str(caught.value)


def test_moments_against_what_are_none() -> None:
    before = pa.table({"x": [date(2020, 1, 1), date(2020, 1, 2)]})
    with pytest.raises(shoal.ShoalError, match="Column 'x'"):
        shoal.compare(before, pa.table({"x": [0.5, 0.5]}), ["x"])


def test_a_column_that_the_masked_table_lacks_is_named() -> None:
    with pytest.raises(shoal.SchemaError, match="'x'"):
        shoal.compare(pa.table({"x": [1, 2]}), pa.table({"y": [1, 2]}), ["x"])


def test_a_key_that_is_a_list_is_refused() -> None:
    table = pa.table({"x": [1, 2], "id": [[1], [2]]})
    with pytest.raises(shoal.DataError, match=r"Column 'id': list.* cannot be a key"):
        shoal.compare(table, table, ["x"], key="id")


@pytest.mark.parametrize("far", [1e308, 1.7e308])
def test_values_as_far_off_as_floats_go_are_measured_all_the_same(far: float) -> None:
    before, after = ({"x": [1.0, 2.0, 3.0, 4.0, 5.0]}, {"x": [1.0, far, 3.0, -far, 5.0]})
    read = shoal.compare(pa.table(before), pa.table(after), ["x"]).to_dict()
    assert 0 < read["propensity"] <= 0.25
    shoal.compare(pa.table(after), pa.table(before), ["x"])
    shoal.compare(pa.table({"x": [far, far, 0.0]}), pa.table({"x": [1.0, 1.0, 1.0]}), ["x"])
