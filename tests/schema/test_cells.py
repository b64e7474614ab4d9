"""Cells become values and values become cells again; kinds are found by looking."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.schema import cells
from shoal.schema.kinds import kind_of
from shoal.types import Dialect, Kind

POINT, COMMA = Dialect(), Dialect(delimiter=";", decimal=",")


def column(*texts: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts, pa.string())])


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-2", "+3", None], Kind.INTEGER),
        (["1", " 2 ", "3"], Kind.INTEGER),
        (["1", "2.5"], Kind.CONTINUOUS),
        (["1e3", ".5", "5."], Kind.CONTINUOUS),
        (["12345678901234567890", "1"], Kind.CONTINUOUS),
        (["0", "0.5", "-0.25"], Kind.CONTINUOUS),
        (["007", "120"], Kind.NOMINAL),
        (["-01", "12"], Kind.NOMINAL),
        (["0x10", "0x11"], Kind.NOMINAL),
        (["nan", "inf"], Kind.NOMINAL),
        (["a", "b", "1"], Kind.NOMINAL),
        (["1", "2", "b"], Kind.INTEGER),
        (["1.5", "2", "b"], Kind.CONTINUOUS),
        ([None, None], Kind.NOMINAL),
        (["", " "], Kind.NOMINAL),
        (["2020-01-31", "1999-12-01"], Kind.DATETIME),
        (["2020-01-31 10:00", "1999-12-01T11:30:05.25"], Kind.DATETIME),
        (["2020-01-31T10:00:00Z", "1999-12-01T11:30:05+02:00"], Kind.DATETIME),
        (["2020-1-31", "31.01.2020"], Kind.NOMINAL),
    ],
)
def test_kinds(texts: list[str | None], kind: Kind) -> None:
    assert kind_of(column(*texts), POINT) is kind
    assert kind_of(column(*texts * 700), POINT) is kind  # the same when only a sample is looked at first


def test_kinds_of_a_long_column_whose_odd_cells_the_sample_misses() -> None:
    texts = ["7"] * 5001
    assert kind_of(column(*texts), POINT) is Kind.INTEGER
    texts[4] = "7.5"
    assert kind_of(column(*texts), POINT) is Kind.CONTINUOUS
    texts[4] = "x"
    assert kind_of(column(*texts), POINT) is Kind.INTEGER  # one fault, named when the column is read
    texts[4] = "07"
    assert kind_of(column(*texts), POINT) is Kind.NOMINAL
    assert kind_of(column(*["?"] * 3000, *["1"] * 4000), POINT) is Kind.INTEGER


def test_the_dialect_decides() -> None:
    assert kind_of(column("1,5", "2"), COMMA) is Kind.CONTINUOUS
    assert kind_of(column("1.5", "2.5"), COMMA) is Kind.NOMINAL
    assert kind_of(column("NA", "?", "2"), Dialect(missing=("NA", "?"))) is Kind.INTEGER
    assert kind_of(column("31.01.2020"), Dialect(datetime="%d.%m.%Y")) is Kind.DATETIME


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        (pa.int8(), Kind.INTEGER),
        (pa.uint64(), Kind.INTEGER),
        (pa.float32(), Kind.CONTINUOUS),
        (pa.decimal128(5, 2), Kind.CONTINUOUS),
        (pa.timestamp("ns"), Kind.DATETIME),
        (pa.date32(), Kind.DATETIME),
        (pa.bool_(), Kind.NOMINAL),
        (pa.string(), Kind.NOMINAL),
        (pa.dictionary(pa.int32(), pa.string(), ordered=True), Kind.ORDINAL),
        (pa.dictionary(pa.int32(), pa.string()), Kind.NOMINAL),
        (pa.duration("s"), Kind.NOMINAL),
    ],
)
def test_a_type_says_its_kind(type_: pa.DataType, kind: Kind) -> None:
    assert kind_of(pa.chunked_array([], type_), None) is kind


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.sampled_from([POINT, COMMA]))
def test_numbers_are_read(numbers: list[float], dialect: Dialect) -> None:
    texts = column(*(repr(number).replace(".", dialect.decimal) for number in numbers))
    assert cells.values(texts, "x", Kind.CONTINUOUS, dialect).to_pylist() == numbers


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_are_read(numbers: list[int]) -> None:
    assert cells.values(column(*map(str, numbers)), "x", Kind.INTEGER, POINT).to_pylist() == numbers


@given(st.lists(st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)), min_size=1))
def test_dates_are_read(days: list[dt.date]) -> None:
    assert cells.values(column(*(day.isoformat() for day in days)), "x", Kind.DATETIME, POINT).to_pylist() == days


@given(st.lists(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)), min_size=1), st.sampled_from("T "))
def test_moments_are_read(moments: list[dt.datetime], sign: str) -> None:
    texts = column(*(moment.isoformat(sep=sign) for moment in moments))
    assert cells.moment_sign(texts) == sign
    read = cells.values(texts, "x", Kind.DATETIME, POINT)
    assert read.cast(pa.timestamp("us")).to_pylist() == moments


@given(
    st.lists(st.dates(dt.date(1000, 1, 1), dt.date(9999, 12, 31)), min_size=1),
    st.sampled_from(["%d.%m.%Y", "%b %d, %Y"]),
)
def test_dates_in_other_formats_are_read(days: list[dt.date], pattern: str) -> None:
    dialect = Dialect(datetime=pattern)
    texts = column(*(day.strftime(pattern) for day in days))
    assert cells.values(texts, "x", Kind.DATETIME, dialect).to_pylist() == days


def test_dates_in_other_formats_must_exist() -> None:
    dialect = Dialect(datetime="%d.%m.%Y")
    assert (
        cells.values(column("1.2.2020", "01.02.2020"), "x", Kind.DATETIME, dialect).to_pylist()
        == [dt.date(2020, 2, 1)] * 2
    )
    with pytest.raises(DataError, match="2 of 3 cannot be read as one, in data rows 1, 3"):
        cells.values(column("30.02.2020", "29.02.2020", "31.04.2020"), "x", Kind.DATETIME, dialect)


def test_times_with_and_without_a_zone_do_not_mix() -> None:
    with pytest.raises(DataError, match="mixes times with and without a time zone"):
        cells.values(column("2020-01-01T10:00:00Z", "2020-01-01T10:00:00"), "x", Kind.DATETIME, POINT)


def test_what_values_would_lose_is_seen() -> None:
    assert cells.lossless(column("1", "22"), Kind.INTEGER, POINT)
    assert cells.lossless(column("1.5", "-2.25e3"), Kind.CONTINUOUS, POINT)
    assert not cells.lossless(column("1234567890123456780"), Kind.CONTINUOUS, POINT)
    assert not cells.lossless(column("1", "x"), Kind.INTEGER, POINT)
    assert not cells.lossless(column("2020-01-01T10:00:00+02:00"), Kind.DATETIME, POINT)
    assert cells.lossless(column("2020-01-01T10:00:00"), Kind.DATETIME, POINT)


def test_the_resolution_is_that_of_the_cells() -> None:
    for text, unit in (
        ("2020-01-01 10:00", "s"),
        ("2020-01-01 10:00:00.5", "ms"),
        ("2020-01-01 10:00:00.123456789", "ns"),
    ):
        assert cells.values(column(text), "x", Kind.DATETIME, POINT).type == pa.timestamp(unit)
    zoned = cells.values(column("2020-01-01T10:00:00+02:00"), "x", Kind.DATETIME, POINT)
    assert zoned.type == pa.timestamp("s", tz="UTC")


@given(st.text(max_size=6), st.sampled_from([Kind.INTEGER, Kind.CONTINUOUS, Kind.DATETIME]))
def test_what_cannot_be_read_is_named_by_row_and_never_shown(text: str, kind: Kind) -> None:
    good = {"integer": "4", "continuous": "4.5", "datetime": "2020-01-01"}[kind.value]
    assume(text.strip())
    planted = f"q{text}q"
    with pytest.raises(DataError) as refused:
        cells.values(column(good, planted, None, good), "x", kind, POINT)
    assert "1 of 4 cannot be read as one, in data row 2." in str(refused.value)
    assert planted not in str(refused.value)


def test_what_looks_right_and_is_not_is_found_by_row() -> None:
    days = ["2020-02-01"] * 500
    days[77] = days[402] = "2021-02-30"
    with pytest.raises(DataError, match="in data rows 78, 403"):
        cells.values(column(*days), "x", Kind.DATETIME, POINT)
    with pytest.raises(DataError, match="1 of 2 cannot be read as one, in data row 2"):
        cells.values(column("1", "99999999999999999999"), "x", Kind.INTEGER, POINT)
    with pytest.raises(DataError, match="1 of 2 cannot be read as one, in data row 1"):
        cells.values(column("1e999", "1"), "x", Kind.CONTINUOUS, POINT)
    for text in ("0x10", "++5", "nan", "inf", "1_000"):
        with pytest.raises(DataError, match="in data row 1"):
            cells.values(column(text, "1"), "x", Kind.INTEGER, POINT)
