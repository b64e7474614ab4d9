"""The audit of two tables: equal to its definition, and red whatever is changed in one of them."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.privacy.anatomy_k import AnatomyK, follows
from shoal.types import Column, Kind, Release, Role, Schema

anatomy_k = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "anatomy_k.py"))["anatomy_k"]

SCHEMA = Schema(
    (Column("ill", Role.CONFIDENTIAL, Kind.NOMINAL), Column("pay", Role.CONFIDENTIAL, Kind.CONTINUOUS)),
)
CELLS = st.tuples(st.sampled_from([None, "flu", "none"]), st.sampled_from([None, 0.0, 1.5]))


def table(rows: list[tuple], classes: list[int | None] | None = None) -> pa.Table:
    made = {
        "ill": pa.array([row[0] for row in rows], pa.string()),
        "pay": pa.array([row[1] for row in rows], pa.float64()),
    }
    return pa.table(made if classes is None else {"class": pa.array(classes, pa.int64()), **made})


def released(
    classes: list[int | None],
    before: list[tuple],
    apart_classes: list[int | None],
    apart: list[tuple],
    subjects: list[int] | None = None,
) -> Release:
    second = Release(table(apart, apart_classes), SCHEMA, original=table(before))
    whose = None if subjects is None else pa.chunked_array([subjects])
    return Release(pa.table({"class": pa.array(classes, pa.int64())}), Schema(()), subjects=whose, apart=second)


@st.composite
def anatomised(draw: st.DrawFn) -> tuple:
    n = draw(st.integers(1, 9))
    classes = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    before = draw(st.lists(CELLS, min_size=n, max_size=n))
    order = sorted(range(n), key=lambda row: (classes[row], repr(before[row])))
    apart_classes, apart = [classes[row] for row in order], [before[row] for row in order]
    for _ in range(draw(st.integers(0, 2))):  # and now something may be changed
        where = draw(st.integers(0, n - 1))
        match draw(st.sampled_from(["class", "other class", "cell", "none", "drop"])):
            case "class":
                classes = [
                    draw(st.sampled_from([0, 1, 2, None])) if row == where else c for row, c in enumerate(classes)
                ]
            case "other class" if where < len(apart):
                apart_classes = [
                    *apart_classes[:where],
                    draw(st.sampled_from([0, 1, 2, 3, None])),
                    *apart_classes[where + 1 :],
                ]
            case "cell" if where < len(apart):
                apart = [*apart[:where], draw(CELLS), *apart[where + 1 :]]
            case "drop" if where < len(apart):
                apart, apart_classes = (
                    [*apart[:where], *apart[where + 1 :]],
                    [*apart_classes[:where], *apart_classes[where + 1 :]],
                )
    subjects = draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return classes, before, apart_classes, apart, subjects


@settings(max_examples=300, deadline=None)
@given(anatomised())
def test_the_level_is_that_of_the_definition(given_tables: tuple) -> None:
    found = AnatomyK(2).audit(released(*given_tables), ["class"])
    assume("rows are sorted by" not in found.note)
    assert found.achieved == anatomy_k(*given_tables)
    assert found.holds == (found.achieved >= 2)
    assert found.worst[0][1] == found.achieved


CLASSES, BEFORE = (
    [0, 1, 0, 1, 0, 1],
    [("flu", 2.0), ("none", 1.0), ("flu", 1.0), ("none", 3.0), ("none", 5.0), ("none", 2.0)],
)
ORDER = [2, 0, 4, 1, 5, 3]
APART = ([CLASSES[row] for row in ORDER], [BEFORE[row] for row in ORDER])


def test_classes_in_which_all_rows_share_a_value_are_counted() -> None:
    found = AnatomyK(3).audit(released(CLASSES, BEFORE, *APART), ["class"])
    assert (found.achieved, found.classes, found.holds) == (3, 2, True)
    assert found.note == "in 1 class all rows share a value of 'ill'"


@pytest.mark.parametrize("where", range(6))
def test_a_class_number_that_is_shifted_is_seen(where: int) -> None:
    for change in (lambda c: 1 - c, lambda _: 7, lambda _: None):
        classes = [change(c) if row == where else c for row, c in enumerate(CLASSES)]
        assert not AnatomyK(2).audit(released(classes, BEFORE, *APART), ["class"]).holds
        second = [change(c) if row == where else c for row, c in enumerate(APART[0])]
        assert not AnatomyK(2).audit(released(CLASSES, BEFORE, second, APART[1]), ["class"]).holds


def test_no_class_is_none_even_if_both_tables_agree() -> None:
    first, second = ([None if c == 1 else c for c in classes] for classes in (CLASSES, APART[0]))
    found = AnatomyK(2).audit(released(first, BEFORE, second, APART[1]), ["class"])
    assert (found.achieved, found.holds) == (0, False)


def test_whole_rows_are_compared_not_columns() -> None:
    mixed = [(APART[1][1][0], APART[1][2][1]), *APART[1][1:]]
    rows = [APART[1][0], (APART[1][1][0], APART[1][2][1]), (APART[1][2][0], APART[1][1][1]), *APART[1][3:]]
    for changed in (mixed, rows):
        found = AnatomyK(3).audit(released(CLASSES, BEFORE, APART[0], changed), ["class"])
        assert (found.achieved, found.holds) == (0, False)
        assert "1 classes without a number, or with changed confidential rows, count as 0" in found.note


def test_rows_in_the_order_of_a_confidential_column_give_it_away() -> None:
    n = 24
    classes = [row % 3 for row in range(n)]
    for before in ([("flu", float(row)) for row in range(n)], [("flu", -float(row)) for row in range(n)]):
        found = AnatomyK(2).audit(released(classes, before, classes, before), ["class"])
        assert (found.achieved, found.holds) == (1, False)
        assert "rows are sorted by 'pay'" in found.note
    before[3], before[6] = before[6], before[3]
    assert AnatomyK(2).audit(released(classes, before, classes, before), ["class"]).holds


def test_an_order_that_chance_may_have_made_is_none() -> None:
    pay = Column("pay", Role.CONFIDENTIAL, Kind.INTEGER)
    for n in (2, 5, 9):  # 9! is less than a million
        assert not follows(pay, pa.chunked_array([list(range(n))]), np.zeros(n, np.int64))
    assert follows(pay, pa.chunked_array([list(range(10))]), np.zeros(10, np.int64))
    assert not follows(pay, pa.chunked_array([[1] * 50]), np.zeros(50, np.int64))
    assert not follows(pay, pa.chunked_array([[None, *[1] * 50]]), np.zeros(51, np.int64))
    sized = Column("size", Role.CONFIDENTIAL, Kind.ORDINAL, order=("low", "mid", "high"))
    sizes = pa.chunked_array([["low"] * 9 + ["mid"] * 9 + ["high"] * 9])
    assert follows(sized, sizes, np.zeros(27, np.int64))
    assert not follows(sized, sizes, np.repeat(np.arange(9), 3))  # every class has one value only


def test_it_cannot_be_audited_of_one_table() -> None:
    with pytest.raises(shoal.ParameterError, match="AnatomyK: needs both tables and the original confidential columns"):
        shoal.audit(pa.table({"class": [0, 0]}), ["class"], require={"anatomy_k": 2})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"other": [0, 0]}, {"class": [0, 0], "ill": ["flu", "flu"]}),
        ({"class": [0, 0]}, {"ill": ["flu", "flu"]}),
        ({"class": [0, 0]}, {"class": [0, 0]}),
        ({"class": [0, 0, 0]}, {"class": [0, 0], "ill": ["flu", "flu"]}),
        ({"class": [0, 0]}, {"class": [0, 0], "ill": ["flu", "flu"], "id": [1, 2]}),
    ],
)
def test_tables_that_do_not_belong_together_fail(first: dict, second: dict) -> None:
    apart = Release(pa.table(second), SCHEMA, original=pa.table({"ill": ["flu", "flu"]}))
    with pytest.raises(shoal.GuaranteeError, match="Nothing was written"):
        AnatomyK(2).audit(Release(pa.table(first), Schema(()), apart=apart), ["class"])
