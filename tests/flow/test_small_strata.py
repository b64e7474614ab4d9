"""Strata of fewer than k records are refused, or merged with the nearest; what is promised of them is audited."""

from __future__ import annotations

import runpy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.flow import gating
from shoal.flow.strata import merge_small, merged_note
from shoal.types import Partition, Points, Release, Schema

merged = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "small_strata.py"))["merged"]
N = 60
RNG = np.random.default_rng(4)
REGION = ["a"] * 25 + ["b"] * 25 + ["c"] * 2 + ["d"] * 1 + ["e"] * 7
FRAME = pa.table(
    {
        "x": [*RNG.normal(0, 1, 25), *RNG.normal(50, 1, 25), *RNG.normal(49, 1, 3), *RNG.normal(-50, 1, 7)],
        "y": RNG.integers(0, 9, N),
        "c": RNG.integers(0, 3, N),
        "region": REGION,
    }
).take(pa.array(RNG.permutation(N)))
RECIPE = {"quasi": ["x", "y"], "strata": ["region"], "k": 4, "small_strata": "merge"}


@given(data=st.data(), n=st.integers(1, 25), k=st.integers(2, 6), named=st.booleans())
@settings(max_examples=150, deadline=None)
def test_merging_equals_the_oracle(data: st.DataObject, n: int, k: int, named: bool) -> None:
    points = data.draw(st.lists(st.tuples(*[st.integers(-40, 40)] * 2), min_size=n, max_size=n))
    strata = np.unique(data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n)), return_inverse=True)[1]
    subjects = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))) if named else None
    found = merge_small(Points(np.array(points, float)), strata, k, subjects)
    groups = {frozenset(strata[found == g].tolist()) for g in range(int(found.max()) + 1)}
    assert sum(map(len, groups)) == len(set(strata.tolist()))  # whole strata
    for group in groups:
        rows = [i for i in range(n) if strata[i] in group]
        size = len(rows) if subjects is None else len({int(subjects[i]) for i in rows})
        assert size >= k or len(groups) == 1
    expected = merged(points, strata.tolist(), k, None if subjects is None else subjects.tolist())
    assert groups == expected


def test_small_strata_are_refused_or_merged_and_it_is_said() -> None:
    with pytest.raises(shoal.DataError, match=r"2 of 5 hold fewer \(the smallest 1\)\. Let them be merged"):
        shoal.protect(FRAME, {**RECIPE, "small_strata": "refuse"})
    done = shoal.protect(FRAME, RECIPE)
    assert "3 of 5 strata were merged into 1, because some held fewer than k = 4" in done.partition.note
    over, inside = (f for f in done.audit.findings if f.model == "k_anonymity")
    assert (over.attributes, inside.attributes) == (("x", "y"), ("x", "y", "region"))
    assert inside.note == "3 of 5 strata were merged, and count as 1"
    assert done.data["region"].equals(FRAME["region"])
    counted = Counter(zip(*(done.data[name].to_pylist() for name in ("x", "y")), strict=True))
    assert min(counted.values()) >= 4
    rows = list(zip(*(done.data[name].to_pylist() for name in ("x", "y", "region")), strict=True))
    assert min(size for row, size in Counter(rows).items() if row[2] in "ae") >= 4  # those that were not merged
    crossing = {(row[0], row[1]): set() for row in rows}
    for x, y, region in rows:
        crossing[x, y].add(region)
    assert all(regions <= {"b", "c", "d"} or len(regions) == 1 for regions in crossing.values())


def test_nothing_is_merged_without_need() -> None:
    big = FRAME.filter(pa.array([r in "abe" for r in FRAME["region"].to_pylist()]))
    done, plain = (shoal.protect(big, {**RECIPE, "small_strata": rule}) for rule in ("merge", "refuse"))
    assert np.array_equal(done.partition.labels, plain.partition.labels)
    assert done.partition.strata is None
    assert done.partition.note == ""


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_files_and_several_columns_of_strata(tmp_path: Path, end: str) -> None:
    frame = FRAME.append_column("half", pa.array([None if i % 3 == 0 else "h" for i in range(N)]))
    shoal.write_table(frame, tmp_path / f"in.{end}")
    recipe = {**RECIPE, "strata": ["region", "half"]}
    done = shoal.protect_file(tmp_path / f"in.{end}", tmp_path / f"out.{end}", recipe)
    assert "strata were merged" in done.partition.note
    assert done.audit.holds


def test_subjects_and_requirements_hold_in_merged_strata() -> None:
    frame = FRAME.append_column("who", pa.array([f"p{i // 2}" for i in range(N)]))
    done = shoal.protect(frame, {**RECIPE, "subject": "who"})
    assert "counted in subjects; " in done.audit.findings[1].note
    done = shoal.protect(FRAME, {**RECIPE, "confidential": ["c"], "require": {"p": 2}})
    found = [f for f in done.audit.findings if f.model == "p_sensitivity"]
    assert [f.attributes[-1] for f in found] == ["y", "region"]
    assert all(f.holds for f in found)
    poor = FRAME.set_column(2, "c", pa.array(np.arange(N) % 2))
    with pytest.raises(shoal.DataError, match="p must be at most 2"):
        shoal.protect(poor, {**RECIPE, "confidential": ["c"], "require": {"p": 3}})


def gated(strata: np.ndarray | None, labels: np.ndarray, rule: str = "merge") -> None:
    region = ["a"] * 4 + ["b"] * 4 + ["c"] * 1 + ["d"] * 4
    table = pa.table({"x": labels, "region": region})
    partition = replace(Partition.of(labels, ["x"]), strata=strata)
    recipe = shoal.Recipe(quasi=["x"], strata=["region"], k=4, small_strata=rule)
    gating.gate(Release(table, Schema(())), recipe, partition)


def test_the_gate_believes_no_more_than_it_must() -> None:
    fine = np.array([0] * 4 + [1] * 5 + [2] * 4)
    gated(fine, fine)
    with pytest.raises(shoal.GuaranteeError, match="requires 4 and achieves 1"):
        gated(None, fine)
    with pytest.raises(shoal.GuaranteeError, match="Strata were merged that must not be"):
        gated(fine, fine, rule="refuse")
    with pytest.raises(shoal.GuaranteeError, match="A stratum was merged in part only"):
        gated(np.array([0] * 4 + [1] * 6 + [2] * 3), fine)
    with pytest.raises(shoal.GuaranteeError, match="Strata were merged that hold enough records each"):
        gated(np.array([0] * 4 + [1] * 4 + [2] + [0] * 4), fine)
    with pytest.raises(shoal.GuaranteeError, match="requires 4 and achieves"):  # a class crosses strata not merged
        gated(fine, np.array([0] * 3 + [1] * 6 + [2] * 4))


def test_merging_needs_strata() -> None:
    with pytest.raises(shoal.ParameterError, match="small_strata needs strata, got none"):
        shoal.Recipe(quasi=["x"], small_strata="merge")
    with pytest.raises(shoal.ParameterError, match="no small_strata is called 'join'; there are merge, refuse"):
        shoal.Recipe(quasi=["x"], strata=["s"], small_strata="join")
    assert shoal.Recipe(quasi=["x"], weight="category").to_dict()["weight"] == "category"
    assert merged_note(np.array([0, 1]), np.array([0, 1]), 2) == ""
