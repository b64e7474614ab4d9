"""Strata of fewer than k records are refused, or merged with the nearest; what is promised of them is audited."""

from __future__ import annotations

import runpy
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.flow.classes.strata import merge_small, merged_note
from shoal.flow.gate.gate import gate
from shoal.flow.plan.promise import promise_of
from shoal.types import Partition, Points, Release, Schema
from shoal.types.statistical_files import Variable

merged = runpy.run_path(str(Path(__file__).parents[2] / "oracles" / "small_strata.py"))["merged"]
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
    with pytest.raises(shoal.DataError, match=r"2 of 5 hold fewer \(the smallest 1\)\. Merge them"):
        shoal.protect(FRAME, {**RECIPE, "small_strata": "refuse"})
    done = shoal.protect(FRAME, RECIPE)
    assert "3 of 5 strata were merged into 1, because some held fewer than k = 4" in done.partition.note
    over, inside = (f for f in done.audit.findings if f.model == "k_anonymity")
    assert (over.attributes, inside.attributes) == (("x", "y"), ("x", "y", "region"))
    assert inside.achieved >= 4
    assert done.data["region"].to_pylist() == [r if r in "ae" else "b + c + d" for r in FRAME["region"].to_pylist()]
    counted = Counter(zip(*(done.data[name].to_pylist() for name in ("x", "y", "region")), strict=True))
    assert min(counted.values()) >= 4  # k holds for an attacker who knows the released stratum
    assert shoal.audit(done.data, quasi=["x", "y", "region"]).to_dict()["k"] >= 4


def test_nothing_is_merged_without_need() -> None:
    big = FRAME.filter(pa.array([r in "abe" for r in FRAME["region"].to_pylist()]))
    done, plain = (shoal.protect(big, {**RECIPE, "small_strata": rule}) for rule in ("merge", "refuse"))
    assert np.array_equal(done.partition.labels, plain.partition.labels)
    assert done.data["region"].equals(big["region"])
    assert "merged" not in done.partition.note


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_files_and_several_columns_of_strata(tmp_path: Path, end: str) -> None:
    frame = FRAME.append_column("half", pa.array([None if i % 3 == 0 else "h" for i in range(N)]))
    shoal.write_table(frame, tmp_path / f"in.{end}")
    recipe = {**RECIPE, "strata": ["region", "half"]}
    done = shoal.protect_file(tmp_path / f"in.{end}", tmp_path / f"out.{end}", recipe)
    assert "strata were merged" in done.partition.note
    found = shoal.audit_file(tmp_path / f"out.{end}", quasi=["x", "y", "region", "half"])
    assert found.to_dict()["k"] >= 4


@pytest.mark.parametrize("release", ["centroid", "medoid", "swap"])
@pytest.mark.parametrize(
    "kind", ["text", "categorical", "ordered", "integer", "whole", "float", "date", "pandas", "polars"]
)
def test_what_was_merged_leaves_as_one_value(kind: str, release: str) -> None:
    number = np.array(["abcde".index(r) for r in FRAME["region"].to_pylist()])
    texts = FRAME["region"].combine_chunks()
    column = {
        "categorical": texts.dictionary_encode(),
        "ordered": pa.DictionaryArray.from_arrays(pa.array(number, pa.int8()), list("abcde"), ordered=True),
        "integer": pa.array(number),
        "whole": pa.array(number.astype(float)),
        "float": pa.array(number + 0.5),
        "date": pa.array(number.astype(np.int32)).cast(pa.date32()),
    }.get(kind, texts)
    frame = FRAME.set_column(3, "region", column)
    native = {"pandas": frame.to_pandas, "polars": lambda: pl.from_arrow(frame)}.get(kind, lambda: frame)()
    done = shoal.protect(native, {**RECIPE, "release": release})
    left = done.data["region"].to_pylist() if isinstance(done.data, pa.Table) else list(done.data["region"])
    one = {"integer": "1 + 2 + 3", "whole": "1 + 2 + 3", "float": None, "date": None}.get(kind, "b + c + d")
    assert [v for v, n in zip(left, number, strict=True) if n in (1, 2, 3)] == [one] * 28
    kept = [str(v) for v, n in zip(left, number, strict=True) if n in (0, 4)]
    before = [str(v).removesuffix(".0") for v in column.to_pylist()]
    assert kept == [v for v, n in zip(before, number, strict=True) if n in (0, 4)]


def test_text_files(tmp_path: Path) -> None:
    codes = [str(" abcde".index(r)) for r in FRAME["region"].to_pylist()]
    names = [None if r == "d" else r for r in FRAME["region"].to_pylist()]
    for cells, one in ((codes, "2 + 3 + 4"), (names, None)):  # a value missing in one of them is missing
        shoal.write_table(FRAME.set_column(3, "region", pa.array(cells)), tmp_path / "in.csv", force=True)
        shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", RECIPE, force=True)
        left = pl.read_csv(tmp_path / "out.csv", infer_schema=False)["region"].to_list()
        assert left == [v if r in "ae" else one for v, r in zip(cells, FRAME["region"].to_pylist(), strict=True)]


@pytest.mark.parametrize("package", ["spss", "stata"])
def test_codes_with_labels_are_released_as_a_new_code(package: str, tmp_path: Path) -> None:
    codes = np.array([" abcde".index(r) for r in FRAME["region"].to_pylist()], float)
    labels = tuple((float(at), name) for at, name in enumerate(["north", "south", "east", "west"], 1))
    variable = Variable(package, labels=(*labels, (6.0, "no one")), missing=((7.0, 8.0),), measure="nominal")
    table = FRAME.set_column(3, variable.onto(pa.field("region", pa.float64())), pa.array(codes))
    left = shoal.protect(table, RECIPE).data
    assert left["region"].to_pylist() == [9.0 if c in (2, 3, 4) else c for c in codes]
    assert dict(Variable.of(left.schema.field("region")).labels)[9] == "south + east + west"
    if package == "spss":
        shoal.write_table(table, tmp_path / "in.sav")
        done = shoal.protect_file(tmp_path / "in.sav", tmp_path / "out.dta", RECIPE)
        assert dict(Variable.of(done.data.schema.field("region")).labels)[9] == "south + east + west"


def test_subjects_and_requirements_hold_in_merged_strata() -> None:
    frame = FRAME.append_column("who", pa.array([f"p{i // 2}" for i in range(N)]))
    done = shoal.protect(frame, {**RECIPE, "subject": "who"})
    assert done.audit.findings[1].note == "counted in subjects"
    done = shoal.protect(FRAME, {**RECIPE, "confidential": ["c"], "require": {"p": 2}})
    found = [f for f in done.audit.findings if f.model == "p_sensitivity"]
    assert [f.attributes[-1] for f in found] == ["y", "region"]
    assert all(f.holds for f in found)
    poor = FRAME.set_column(2, "c", pa.array(np.arange(N) % 2))
    with pytest.raises(shoal.DataError, match="p must be at most 2"):
        shoal.protect(poor, {**RECIPE, "confidential": ["c"], "require": {"p": 3}})


def test_the_gate_looks_at_the_strata_as_they_leave() -> None:
    region = ["a"] * 4 + ["b"] * 4 + ["c"] * 1 + ["d"] * 4
    labels = np.array([0] * 4 + [1] * 5 + [2] * 4)
    recipe = shoal.Recipe(quasi=["x"], strata=["region"], k=4, small_strata="merge")
    one = pa.table({"x": labels, "region": ["b + c" if r in "bc" else r for r in region]})
    assert gate(Release(one, Schema(())), promise_of(recipe, Partition.of(labels, ["x"]))).holds
    with pytest.raises(shoal.GuaranteeError, match="over x, region requires 4 and achieves 1"):
        gate(
            Release(pa.table({"x": labels, "region": region}), Schema(())),
            promise_of(recipe, Partition.of(labels, ["x"])),
        )


def test_merging_needs_strata() -> None:
    with pytest.raises(shoal.ParameterError, match="small_strata needs strata, got none"):
        shoal.Recipe(quasi=["x"], small_strata="merge")
    with pytest.raises(shoal.ParameterError, match="no small_strata is called 'join'; there are merge, refuse"):
        shoal.Recipe(quasi=["x"], strata=["s"], small_strata="join")
    assert shoal.Recipe(quasi=["x"], weight="category").to_dict()["weight"] == "category"
    assert merged_note(np.array([0, 1]), np.array([0, 1]), 2) == ""
