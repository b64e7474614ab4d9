"""Moments and the numbers that files hold are the same, both ways."""

from __future__ import annotations

import datetime as dt
import runpy
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.types.statistical_files import Clock

number_of = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "statfile.py"))["number_of"]
FORMATS = [
    ("spss", "DATE11", "date"),
    ("spss", "MOYR8", "date"),
    ("spss", "DATETIME20", "moment"),
    ("stata", "%td", "date"),
    ("stata", "%tdD_m_Y", "date"),
    ("stata", "%tc", "moment"),
    ("sas", "DATE9.", "date"),
    ("sas", "E8601DT19", "moment"),
]


@pytest.mark.parametrize(("package", "format", "shown"), FORMATS)
@given(st.data())
def test_numbers_equal_the_oracle_and_come_back(package: str, format: str, shown: str, data: st.DataObject) -> None:
    of = (
        st.dates()
        if shown == "date"
        else st.datetimes().map(lambda m: m.replace(microsecond=m.microsecond // 1000 * 1000))
    )
    moments = data.draw(st.lists(st.none() | of, min_size=1, max_size=6))
    kind = pa.date32() if shown == "date" else pa.timestamp("ms")
    clock = Clock.of(package, format)
    assert clock is not None
    numbers = clock.numbers(pa.chunked_array([pa.array(moments, kind)]))
    assert numbers.to_pylist() == [None if m is None else number_of(m, package, shown) for m in moments]
    again = clock.moments(numbers)
    assert again is not None
    assert again.cast(kind).to_pylist() == moments


@given(st.lists(st.floats(-1e11, 1e11), min_size=1, max_size=5), st.sampled_from(FORMATS))
def test_what_becomes_a_moment_is_the_same_number_again(numbers: list[float], form: tuple[str, str, str]) -> None:
    clock = Clock.of(form[0], form[1])
    assert clock is not None
    moments = clock.moments(pa.chunked_array([pa.array(numbers)]))
    assert moments is None or clock.numbers(moments).to_pylist() == numbers


@pytest.mark.parametrize(
    ("package", "format"), [("spss", "F8.0"), ("spss", "TIME8"), ("stata", "%9.0g"), ("stata", "%tm"), ("sas", None)]
)
def test_other_formats_have_no_clock(package: str, format: str | None) -> None:
    assert Clock.of(package, format) is None


def test_moments_beyond_the_calendar_stay_numbers() -> None:
    clock = Clock.of("spss", "DATE11")
    assert clock is not None
    assert clock.moments(pa.chunked_array([pa.array([1e18, 0.0])])) is None
    assert clock.numbers(pa.chunked_array([pa.array([dt.date(1582, 10, 14)])])).to_pylist() == [0.0]


@pytest.mark.parametrize(
    ("package", "dates", "moments", "numbers"),
    [
        (
            "sas",
            ["DATE9", "MMDDYY10", "YYMMDDN8.", "MONNAME3", "MINGUO10", "MONYY7", "YYQRS8", "NLDATEW", "IS8601DA"],
            ["DATETIME19", "DATETIME28.9", "DTDATE9", "NLDATMAP", "E8601DT26.6", "DATEAMPM"],
            ["BEST12", "TIME8", "DOLLAR12.2", "DATES1", "MONTHLY", "", None],
        ),
        ("stata", ["%td", "%-tdD_m_Y", "%d"], ["%tc", "%tcHH:MM"], ["%tC", "%tw", "%tm", "%9.0g", None]),
    ],
)
def test_formats(package: str, dates: list, moments: list, numbers: list) -> None:
    """Stata's %tC counts leap seconds, so that its numbers are no moments of a calendar."""
    found = {name: Clock.of(package, name) for name in (*dates, *moments, *numbers)}
    assert [name for name, clock in found.items() if clock is not None and clock.dated] == dates
    assert [name for name, clock in found.items() if clock is not None and not clock.dated] == moments
