"""Codes that a file declares to be missing are missing, and its measures are kinds."""

from __future__ import annotations

import runpy
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.schema.kinds import kind_of
from shoal.schema.roles import without_user_missing
from shoal.types import Kind
from shoal.types.statistical_files import Variable, tag

is_user_missing = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "statfile.py"))["is_user_missing"]
NUMBERS = st.integers(-12, 12)
RANGES = st.lists(st.tuples(NUMBERS, NUMBERS).map(lambda ends: (min(ends), max(ends))), max_size=3)


@given(st.lists(st.none() | NUMBERS, min_size=1, max_size=20), RANGES, st.booleans())
def test_numbers_equal_the_oracle(values: list[int | None], ranges: list[tuple[int, int]], whole: bool) -> None:
    kind = pa.int64() if whole else pa.float64()
    field = Variable("spss", missing=tuple(ranges)).onto(pa.field("x", kind))
    found = without_user_missing(field, pa.chunked_array([pa.array(values, kind)]))
    assert found.to_pylist() == [None if is_user_missing(value, ranges) else value for value in values]


@given(
    st.lists(st.none() | st.text("ab", max_size=2), min_size=1, max_size=9),
    st.lists(st.text("ab", min_size=1), max_size=3),
)
def test_texts_equal_the_oracle(values: list[str | None], codes: list[str]) -> None:
    ranges = [(code, code) for code in codes]
    field = Variable("spss", missing=tuple(ranges)).onto(pa.field("x", pa.string()))
    found = without_user_missing(field, pa.chunked_array([pa.array(values, pa.string())]))
    assert found.to_pylist() == [None if is_user_missing(value, ranges) else value for value in values]


def test_a_column_that_declares_nothing_is_the_same_object() -> None:
    column = pa.chunked_array([[1, 2]])
    assert without_user_missing(pa.field("x", pa.int64()), column) is column


LABELS = ((1, "low"), (2, "high"), (9, "refused"))


@pytest.mark.parametrize(
    ("variable", "values", "kind"),
    [
        (Variable("spss", measure="nominal"), [1, 2], Kind.NOMINAL),
        (Variable("spss", measure="ordinal"), [1, 2], Kind.ORDINAL),
        (Variable("spss", measure="scale"), [1, 2], Kind.INTEGER),
        (Variable("spss", measure="scale", labels=LABELS), [1, 2], Kind.INTEGER),
        (Variable("spss", measure="ordinal"), ["low", "high"], Kind.NOMINAL),
        (Variable("stata", labels=LABELS), [1, 2, 2], Kind.NOMINAL),
        (Variable("stata", labels=LABELS), [1, 2, 3], Kind.INTEGER),
        (Variable("stata", labels=LABELS[:2], missing=((9, 9),)), [1, 2, 9], Kind.NOMINAL),
        (Variable("stata"), [0.5, 2.0], Kind.CONTINUOUS),
    ],
)
def test_measures_are_kinds(variable: Variable, values: list[object], kind: Kind) -> None:
    column = pa.chunked_array([values])
    assert kind_of(column, None, variable.onto(pa.field("x", column.type))) is kind


def test_letters_are_the_numbers_of_stata() -> None:
    assert tag("z", whole=True) == 2_147_483_647
    assert float(tag("a", whole=False)).hex() == "0x1.0010000000000p+1023"
    assert float(tag("z", whole=False)).hex() == "0x1.01a0000000000p+1023"
