"""The audit of t-closeness equals the definition exactly, and fails closed."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy.counting import earth_mover as _earth_mover
from shoal.privacy.counting import values as _values
from shoal.privacy.counting.classes import classes_of
from shoal.privacy.k_anonymity import class_sizes
from shoal.types import Column, Finding, Kind, Release, Role, Schema

_spec = importlib.util.spec_from_file_location("oracle_emd", Path(__file__).parents[1] / "oracles" / "earth_mover.py")
assert _spec is not None
assert _spec.loader is not None
oracle = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(oracle)

LEVELS = st.sampled_from([0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1 / 3, 1])
ILLS = {"lungs": ["flu", "asthma"], "gut": {"mild": ["gastritis"], "severe": {"open": ["ulcer", "cancer"]}}, "x": ["y"]}
LEAVES = ["flu", "asthma", "gastritis", "ulcer", "cancer", "y"]
#: The same tree as the oracle writes it: leaves 0–5, the missing value 6, then open, severe, mild, gut, lungs, x.
PARENTS = [11, 11, 9, 7, 7, 12, -1, 8, 10, 10, -1, -1, -1]
ROWS = st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 6))), min_size=1, max_size=40)


def closeness_of(audit: shoal.Audit) -> Finding:
    return next(f for f in audit.findings if f.model == "t_closeness")


def finding(frame: object, t: float | None = None, **more: object) -> Finding:
    require = {} if t is None else {"t": t}
    audit = shoal.audit(frame, quasi=["q"], confidential=["c"], require=require, **more)
    return next(f for f in audit.findings if f.model == "t_closeness")


def exact(rows: Sequence[tuple], distance) -> Fraction:  # type: ignore[no-untyped-def]
    """The largest distance of any class from the table."""
    values = [value for _, value in rows]
    return max(distance([v for label, v in rows if label == q], values) for q in {label for label, _ in rows})


def check(found: Finding, want: Fraction, t: float) -> None:
    limit = Fraction(str(float(t)))
    assert found.holds == (want <= limit)
    # what rounds to t, but is not, is shown on its side
    assert found.achieved == (
        float(want) if want == limit or float(want) != t else math.nextafter(t, 2 * (want > limit))
    )
    assert found.required == t
    assert found.worst[0][1] == float(want)


def last(value: int | None) -> int:
    return 99 if value is None else value


@given(rows=ROWS, t=LEVELS)
def test_ordered_values_equal_the_definition(rows: list[tuple], t: float) -> None:
    want = exact([(q, last(v)) for q, v in rows], oracle.ordered)
    for kind in (pa.int64(), pa.float32(), pa.float64(), pa.decimal128(25, 2), pa.date32(), pa.timestamp("us")):
        values = pa.array([v for _, v in rows], pa.int64())
        column = values.cast(pa.int32()).cast(kind) if kind == pa.date32() else values.cast(kind)
        check(finding(pa.table({"q": [q for q, _ in rows], "c": column}), t), want, t)


@given(rows=ROWS, t=LEVELS)
def test_nominal_values_equal_the_definition(rows: list[tuple], t: float) -> None:
    want = exact([(q, last(v)) for q, v in rows], oracle.equal)
    words = pa.array([None if v is None else f"w{v}" for _, v in rows], pa.string())
    for column in (words, words.dictionary_encode()):
        check(finding(pa.table({"q": [q for q, _ in rows], "c": column}), t), want, t)


@given(rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6)), min_size=1, max_size=40), t=LEVELS)
def test_a_taxonomy_equals_the_definition(rows: list[tuple], t: float) -> None:
    want = exact(rows, lambda inside, table: oracle.hierarchical(inside, table, PARENTS))
    column = pa.array([[*LEAVES, None][v] for _, v in rows], pa.string())
    frame = pa.table({"q": [q for q, _ in rows], "c": column})
    check(finding(frame, t, taxonomies={"c": ILLS}), want, t)


@given(rows=ROWS, t=LEVELS)
def test_ordered_categories_have_their_order_and_only_those_that_occur_count(rows: list[tuple], t: float) -> None:
    want = exact([(q, last(v)) for q, v in rows], oracle.ordered)
    names = ["zero", "never", *("abcdef")]
    codes = [None if v is None else (0 if v == 0 else v + 1) for _, v in rows]
    column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(names), ordered=True)
    check(finding(pa.table({"q": [q for q, _ in rows], "c": column}), t), want, t)


@given(rows=ROWS, seed=st.integers(0, 99))
def test_row_order_changes_nothing(rows: list[tuple], seed: int) -> None:
    frame = pa.table({"q": [q for q, _ in rows], "c": pa.array([v for _, v in rows], pa.int64())})
    shuffled = frame.take(np.random.default_rng(seed).permutation(len(rows)))
    for kinds in ({}, {"c": "nominal"}):
        both = [shoal.audit(f, ["q"], ["c"], require={"t": 0.2}, kinds=kinds).to_dict() for f in (frame, shuffled)]
        assert both[0] == both[1]


@given(rows=ROWS)
def test_beyond_64_bits_it_is_the_same(rows: list[tuple]) -> None:
    frame = pa.table({"q": [q for q, _ in rows], "c": pa.array([v for _, v in rows], pa.int64())})
    classes = classes_of(Release(frame, Schema(())), ["q"])
    for kind in (Kind.INTEGER, Kind.NOMINAL):
        values = _values.values_of(Column("c", Role.CONFIDENTIAL, kind), frame["c"])
        codes, base = classes.codes(values.codes, values.count), np.sort(values.codes)
        small = _earth_mover.work(values, codes, classes.sizes, base)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_earth_mover, "_EXACT", 5 * len(base) * values.scale)  # classes of more than five are large
            patch.setattr(_earth_mover, "_BATCH", 3)
            large = _earth_mover.work(values, codes, classes.sizes, base)
        assert large.tolist() == small.tolist()
        assert (large.dtype == object) == (classes.sizes.max() > 5)


def test_classes_are_those_of_k_anonymity() -> None:
    odd = [0.0, -0.0, float("nan"), None, float("nan"), 1.0, 0.0, None]
    data = pa.table({"x": pa.array(odd, from_pandas=False), "y": ["", None, "a", "a", "a", "", "", "a"]})
    release = Release(data, Schema(()))
    classes = classes_of(release, ["x", "y"])
    assert sorted(classes.rows.tolist()) == list(range(len(odd)))
    sizes = np.empty(len(classes.sizes), np.int64)
    sizes[classes.numbers()] = classes.sizes
    assert sizes.tolist() == class_sizes(release, ["x", "y"]).tolist()
    subjects = replace(release, subjects=pa.chunked_array([range(len(odd))]))
    assert sizes.tolist() == class_sizes(subjects, ["x", "y"]).tolist()  # found in another way


def test_exactly_t_holds_and_a_hair_less_does_not() -> None:
    # 0.15 as a float is a little less than 3/20
    values = list(range(21))
    inside = next(
        [a, b, c]
        for a in values
        for b in values[a:]
        for c in values[b:]
        if oracle.ordered([a, b, c], values) == Fraction(3, 20)
    )
    frame = pa.table({"q": [0 if v in inside else 1 for v in values], "c": values})
    assert exact([(0 if v in inside else 1, v) for v in values], oracle.ordered) == Fraction(3, 20)
    assert finding(frame, 0.15).holds
    assert finding(frame, 0.15).achieved == 0.15
    red = finding(frame, 0.14999999999999997)
    assert not red.holds
    assert red.levels == ("0.14999999999999997", "0.15")  # not "0.15" twice


@pytest.mark.parametrize(
    ("values", "t", "holds"),
    [
        ([5, 5, 5, 5, 5], 0, True),  # one value
        ([1, 2, 1, 2, 1], 1, True),  # nothing is farther than 1
        ([1, 1, 1, 2, 2], 1, True),
        ([1, 1, 1, 2, 2], 0, False),
        ([None] * 5, 0, True),
        ([None, None, None, 1, 1], 0.5, False),
    ],
)
def test_ends_of_the_scale(values: list, t: float, holds: bool) -> None:
    frame = pa.table({"q": [1, 1, 1, 2, 2], "c": pa.array(values, pa.int64())})
    assert finding(frame, t).holds is holds


def test_one_class_is_the_table() -> None:
    assert finding(pa.table({"q": [7] * 9, "c": [3, 1, 4, 1, 5, 9, 2, 6, 5]}), 0).holds


def test_not_a_number_is_missing_and_minus_zero_is_zero() -> None:
    odd = pa.table({"q": [1, 1, 2, 2], "c": pa.array([0.0, float("nan"), -0.0, None], from_pandas=False)})
    for kinds in ({}, {"c": "nominal"}):
        assert finding(odd, 0, kinds=kinds).achieved == 0


def test_one_changed_cell_turns_an_exact_release_red() -> None:
    q, c = np.repeat(np.arange(6), 5), np.tile(np.arange(5), 6)
    frame = pa.table({"q": q, "c": c})
    for kinds in ({"c": "integer"}, {"c": "nominal"}):
        assert finding(frame, 0, kinds=kinds).holds
        for row in range(30):
            for name, values in (("q", q), ("c", c)):
                new = values.copy()
                new[row] = (new[row] + 1) % (6 if name == "q" else 5)
                changed = frame.set_column(frame.column_names.index(name), name, pa.array(new))
                assert not finding(changed, 0, kinds=kinds).holds


def test_a_missing_cell_counts() -> None:
    frame = pa.table({"q": [1, 1, 1, 2, 2, 2], "c": [1, 2, 3, 1, 2, 3]})
    assert finding(frame, 0).holds
    assert not finding(frame.set_column(1, "c", pa.array([1, 2, None, 1, 2, 3])), 0).holds
    assert not finding(frame.set_column(0, "q", pa.array([1, 1, None, 2, 2, 2])), 0).holds


def test_several_attributes_of_several_kinds_each_have_a_finding() -> None:
    frame = pa.table({"q": [1, 1, 2, 2], "a": [1, 2, 1, 2], "b": ["x", "x", "y", "y"], "c": ["flu", "y", "y", "flu"]})
    audit = shoal.audit(frame, ["q"], ["a", "b", "c"], require={"t": 0.4}, taxonomies={"c": ILLS})
    found = {f.confidential: (f.achieved, f.holds) for f in audit.findings if f.model == "t_closeness"}
    assert found == {"a": (0.0, True), "b": (0.5, False), "c": (0.0, True)}
    assert not audit.holds
    assert {name: found["t"] for name, found in audit.to_dict()["confidential"].items()} == {"a": 0.0, "b": 0.5, "c": 0}
    entry = next(e for e in audit.to_dict()["requirements"] if e.get("confidential") == "b")
    assert (entry["model"], entry["required"], entry["achieved"], entry["holds"]) == ("t_closeness", 0.4, 0.5, False)
    assert "bins are the distinct values" in entry["note"]


def test_frames_and_types_change_nothing() -> None:
    rows = {"q": [1, 1, 1, 2, 2, 2], "c": [10, 20, 30, 30, 20, 20]}
    days = [date(2020, 1, v) for v in rows["c"]]
    frames = [
        pa.table(rows),
        pa.table({**rows, "c": [Decimal(v) for v in rows["c"]]}),
        pa.table({**rows, "c": pa.chunked_array([rows["c"][:2], rows["c"][2:]])}),
        pa.table({**rows, "c": days}),
        pd.DataFrame(rows, index=[3, 3, 1, 0, 0, 9]),
        pd.DataFrame({**rows, "c": pd.Categorical(rows["c"], ordered=True)}),
        pl.DataFrame(rows),
        pl.DataFrame({**rows, "c": days}),
    ]
    assert {finding(frame).achieved for frame in frames} == {1 / 12}


def test_the_worst_classes_are_named_by_number_in_order_of_their_first_row() -> None:
    found = finding(pa.table({"q": ["b", "a", "a", "c", "b"], "c": [1, 1, 3, 3, 1]}), 0.1)
    assert [number for number, _ in found.worst] == [2, 0, 1]
    assert "'a'" not in repr(found)


def test_text_cells_of_confidential_columns_are_read_and_those_of_quasi_identifiers_are_not(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("q,c\n1,1\n1,2.0\n1.0,1.0\n1.0,2\n")
    found = shoal.audit_file(path, ["q"], ["c"], require={"t": 0})
    assert (found.overall.classes, closeness_of(found).achieved, found.holds) == (2, 0.0, True)
    as_words = shoal.audit_file(path, ["q"], ["c"], kinds={"c": "nominal"})
    assert closeness_of(as_words).achieved == 0.5


def test_cells_are_read_as_the_file_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("q;c\n1;0,5\n1;1,5\n2;0,50\n2;-\n")
    text = {"decimal": ",", "missing": ["-"], "delimiter": ";"}
    frame = pa.table({"q": [1, 1, 2, 2], "c": [0.5, 1.5, 0.5, None]})
    assert closeness_of(shoal.audit_file(path, ["q"], ["c"], text=text)).achieved == finding(frame).achieved


def test_what_cannot_be_audited_is_refused() -> None:
    frame = pa.table({"q": [1, 1], "c": ["low", "high"], "l": [[1], [2]]})
    with pytest.raises(
        shoal.SchemaError, match="'c': the order of an ordinal column must be known, but type string has no order"
    ):
        finding(frame, kinds={"c": "ordinal"})
    with pytest.raises(shoal.DataError, match="'c': every value must be in its taxonomy; 2 of 2 are not, in 2 of 2"):
        finding(frame, taxonomies={"c": ILLS})
    with pytest.raises(shoal.SchemaError, match=r"'l': a confidential column must hold .*, got list<"):
        shoal.audit(frame, ["q"], ["l"])
    with pytest.raises(shoal.ParameterError, match=r"t must be a number ≥ 0 and ≤ 1, got 1\.5\. Lower t\."):
        finding(frame, 1.5)
    with pytest.raises(shoal.ParameterError, match="t_closeness needs at least one confidential column, got none"):
        shoal.audit(frame, ["q"], require={"t": 0.1})
    with pytest.raises(shoal.ParameterError, match="column 'q' is both quasi and confidential"):
        shoal.audit(frame, ["q"], ["q"])
