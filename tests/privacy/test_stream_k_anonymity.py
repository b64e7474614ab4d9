"""The audit of stream k-anonymity equals its definition, and named classes are looked at one by one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.stream_k_anonymity import StreamKAnonymity
from shoal.types import Column, Finding, Kind, Release, Role, Schema


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"oracle_{name}", Path(__file__).parents[1] / "oracles" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


oracle = load("stream_k_anonymity")

TUPLES = st.tuples(
    st.sampled_from([None, "a", "b"]), st.integers(0, 1), st.integers(0, 4), st.sampled_from([None, "x", "y", "z"])
)
STREAM = st.lists(TUPLES, min_size=1, max_size=25)
ROLES = {"q": Role.QUASI, "r": Role.QUASI, "who": Role.SUBJECT, "class": Role.OTHER}
SCHEMA = Schema(tuple(Column(name, role, Kind.NOMINAL) for name, role in ROLES.items()))


def stream(rows: list[tuple]) -> pa.Table:
    kinds = (pa.string(), pa.int64(), pa.int64(), pa.string())
    return pa.table({name: pa.array([row[j] for row in rows], kinds[j]) for j, name in enumerate(ROLES)})


def finding(rows: list[tuple], k: int | None = None, column: str | None = None, *, by_subject: bool = True) -> Finding:
    data = stream(rows)
    release = Release(data, SCHEMA, subjects=data.column("who") if by_subject else None)
    return StreamKAnonymity(k, column).audit(release, ["q", "r"])


def parts(rows: list[tuple], by_subject: bool) -> tuple[list[tuple], list, list]:
    quasi = [(row[0], row[1]) for row in rows]
    return quasi, [row[2] if by_subject else at for at, row in enumerate(rows)], [row[3] for row in rows]


@given(rows=st.lists(TUPLES, min_size=1, max_size=6), k=st.integers(2, 4), by_subject=st.booleans())
def test_by_the_letter_of_the_definition(rows: list[tuple], k: int, by_subject: bool) -> None:
    quasi, subjects, _ = parts(rows, by_subject)
    found = finding(rows, k, by_subject=by_subject)
    assert found.holds == oracle.holds(quasi, subjects, k)
    assert found.achieved == oracle.achieved(quasi, subjects)


@given(rows=STREAM, k=st.integers(2, 5), by_subject=st.booleans())
def test_named_classes_one_by_one(rows: list[tuple], k: int, by_subject: bool) -> None:
    quasi, subjects, classes = parts(rows, by_subject)
    want = oracle.levels(quasi, subjects, classes)
    found = finding(rows, k, "class", by_subject=by_subject)
    assert (found.achieved, found.holds, found.classes) == (min(want), min(want) >= k, len(want))
    assert list(found.worst) == sorted(enumerate(want), key=lambda pair: (pair[1], pair[0]))[:5]
    most = oracle.between(classes)
    assert (f"up to {most} of other classes were released" if most else "in one piece") in found.note
    assert ("count as 0" in found.note) == (0 in want)


@given(rows=STREAM, by_subject=st.booleans())
def test_what_holds_with_classes_holds_without_and_that_is_k_anonymity(rows: list[tuple], by_subject: bool) -> None:
    data = stream(rows)
    release = Release(data, SCHEMA, subjects=data.column("who") if by_subject else None)
    plain = finding(rows, by_subject=by_subject)
    assert finding(rows, column="class", by_subject=by_subject).achieved <= plain.achieved
    same = KAnonymity().audit(release, ["q", "r"])
    assert (plain.achieved, plain.classes, plain.worst) == (same.achieved, same.classes, same.worst)


@given(rows=STREAM, seed=st.integers(0, 99))
def test_the_order_of_tuples_does_not_change_the_level(rows: list[tuple], seed: int) -> None:
    shuffled = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    assert finding(rows, column="class").achieved == finding(shuffled, column="class").achieved


def test_two_small_classes_that_coincide_are_one_group_only_without_names() -> None:
    rows = [("a", 0, 1, "x"), ("a", 0, 2, "x"), ("a", 0, 3, "y"), ("a", 0, 4, "y")]
    assert finding(rows, 4).holds
    assert "counted as one" in finding(rows, 4).note
    assert not finding(rows, 4, "class").holds
    assert finding(rows, 2, "class").holds


def test_one_changed_cell_turns_an_exact_stream_red() -> None:
    rows = [("a", 0, 1, "x"), ("a", 0, 2, "x"), ("b", 0, 1, "y"), ("b", 0, 3, "y")]
    assert finding(rows, 2, "class").holds
    for row, old in enumerate(rows):
        other = rows[row ^ 1][2]
        for new in (("b" if old[0] == "a" else "a", *old[1:]), (*old[:2], other, old[3]), (*old[:3], None)):
            changed = [*rows[:row], new, *rows[row + 1 :]]
            assert not finding(changed, 2, "class").holds, (row, new)


@pytest.mark.parametrize("ids", [["", " ", None], [float("nan"), None, float("nan")]])
def test_tuples_without_a_class_are_classes_of_their_own(ids: list) -> None:
    data = pa.table({"q": [1, 1, 1], "class": pa.array(ids, from_pandas=False)})
    schema = Schema((Column("q", Role.QUASI, Kind.INTEGER), Column("class", Role.OTHER, Kind.NOMINAL)))
    found = StreamKAnonymity(2, "class").audit(Release(data, schema), ["q"])
    assert (found.achieved, found.classes) == (1, 3)


def test_a_class_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(shoal.SchemaError, match=r"class_column must be a column.*'klass'; there are q, r"):
        finding([("a", 0, 1, "x")], 2, "klass")
