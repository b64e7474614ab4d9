"""Numbers and dates as other countries write them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.schema.cells import fits, numbers, tidy, values
from shoal.schema.conventions import DATES, NUMBERS, Convention, count_conventions, likely, refusal, unread
from shoal.schema.kinds import kind_of
from shoal.schema.thousands import SEPARATORS
from shoal.types import Column, Dialect, Kind, Role

SECRET = "31.415,926"
GERMAN, ENGLISH, SWISS = Dialect(decimal=",", thousands="."), Dialect(thousands=","), Dialect(thousands="'")
FRENCH = Dialect(decimal=",", thousands=" ")


def column(*cells: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([list(cells)], pa.string())


def write(number: Decimal, decimal: str, separator: str) -> str:
    return f"{number:,f}".translate({ord(","): separator, ord("."): decimal})


@given(
    st.lists(st.decimals(-(10**11), 10**11, places=3), min_size=1, max_size=20),
    st.sampled_from([(one.decimal, sign) for one in NUMBERS for sign in SEPARATORS.get(one.thousands or "", "")]),
)
def test_every_number_is_read_as_it_was_written(found: list[Decimal], how: tuple[str, str]) -> None:
    decimal, separator = how
    thousands = next(one for one, signs in SEPARATORS.items() if separator in signs)
    dialect = Dialect(decimal=decimal, thousands=thousands)
    cells = column(*(write(one, decimal, separator) for one in found))
    assert values(cells, "x", Kind.CONTINUOUS, dialect).to_pylist() == [float(one) for one in found]
    assert numbers(cells, dialect).tolist() == [float(one) for one in found]
    whole = [one.to_integral_value() for one in found]
    written = column(*(write(one, decimal, separator) for one in whole))
    assert values(written, "x", Kind.INTEGER, dialect).to_pylist() == list(map(int, whole))


@pytest.mark.parametrize(
    ("cell", "dialect", "number"),
    [
        ("-1.234,50", GERMAN, -1234.5),
        ("+1.234", GERMAN, 1234.0),
        ("1234,5", GERMAN, 1234.5),
        ("1.234.567,", GERMAN, 1234567.0),
        ("1.2.3", GERMAN, None),
        ("12.34,5", GERMAN, None),
        ("1234.567", GERMAN, None),  # the first group has at most three digits
        ("0.123", GERMAN, None),  # and no leading zero
        (".123", GERMAN, None),
        ("1.234.", GERMAN, None),
        ("1,234.5", GERMAN, None),
        ("1.23,456", GERMAN, None),
        ("1.234,5e3", GERMAN, None),
        ("1..234", GERMAN, None),
        ("1,234,567.25", ENGLISH, 1234567.25),
        ("1,23", ENGLISH, None),
        ("1 234\u00a0567,5", FRENCH, 1234567.5),
        ("1\u202f234", FRENCH, 1234.0),
        ("12 34", FRENCH, None),
        ("1 2345", FRENCH, None),
        ("1'234\u2019567.50", SWISS, 1234567.5),
        ("1'23", SWISS, None),
        ("1.234", Dialect(), 1.234),
        ("1,234", Dialect(), None),
    ],
)
def test_groups_have_three_digits(cell: str, dialect: Dialect, number: float | None) -> None:
    assert fits(tidy(column(cell), dialect), Kind.CONTINUOUS, dialect).to_pylist() == [number is not None]
    if number is not None:
        assert values(column(cell), "x", Kind.CONTINUOUS, dialect).to_pylist() == [number]
        return
    with pytest.raises(DataError) as refused:
        values(column("1", cell), "x", Kind.CONTINUOUS, dialect)
    assert "1 of 2 cannot be read" in str(refused.value)
    assert "data row 2" in str(refused.value)
    assert cell not in str(refused.value)


@given(st.text("0123456789.,' \u00a0\u2019+-eE", max_size=12), st.sampled_from(NUMBERS))
def test_what_fits_is_read_and_nothing_else(cell: str, one: Convention) -> None:
    dialect = one.of(Dialect())
    read = tidy(column(cell), dialect)
    fitting = fits(read, Kind.CONTINUOUS, dialect).to_pylist()[0]
    try:
        found = values(column(cell), "x", Kind.CONTINUOUS, dialect).to_pylist()[0]
    except DataError:
        assert not fitting or len(cell) > 4  # a number beyond the range of floats
    else:
        assert (found is None) == (fitting is None)
        assert fitting is not False


def test_a_column_with_separators_is_a_number() -> None:
    assert kind_of(column("2.835,43", "17,5", "800"), GERMAN) is Kind.CONTINUOUS
    assert kind_of(column("2.835", "17", "800"), GERMAN) is Kind.INTEGER
    assert kind_of(column("2.835,43", "17,5", "800"), Dialect()) is Kind.NOMINAL
    assert kind_of(column("01.234", "17"), GERMAN) is Kind.NOMINAL  # a code


@pytest.mark.parametrize(
    ("cells", "flags"),
    [
        (("2.835,43", "17,5"), ["--decimal ',' --thousands '.'"]),
        (("1 234,5", "17,5"), ["--decimal ',' --thousands space"]),
        (("1'234.50", "9.5"), ["--thousands apostrophe"]),
        (("1,5", "2,5"), ["--decimal ','"]),
        (("1,234.5", "2,345"), ["--thousands ','"]),
        (("1,234", "2,345"), ["--decimal ','", "--thousands ','"]),  # the cells do not tell
        (("1.234", "2.345"), []),  # a decimal point is usual
        (("1.2.3", "4.5.6.7", "x"), []),
        (("31.01.2024", "1.2.2023"), ["--datetime '%d.%m.%Y'"]),
        (("31.01.24", "1.2.23"), ["--datetime '%d.%m.%y'"]),
        (("31/01/2024", "01/02/2023"), ["--datetime '%d/%m/%Y'"]),
        (("01/31/2024", "01/02/2023"), ["--datetime '%m/%d/%Y'"]),
        (("01/02/2024", "03/04/2023"), ["--datetime '%d/%m/%Y'", "--datetime '%m/%d/%Y'"]),
        (("31.01.2024 08:15", "1.2.2023 17:00"), ["--datetime '%d.%m.%Y %H:%M'"]),
        (("2024-01-31", "2023-02-01"), []),  # read as it is
        (("2024-1-31", "2023-2-1"), ["--datetime '%Y-%m-%d'"]),
        (("30.02.2024", "31.04.2024"), []),  # no such days
        (("31 Dec 1974", "3 OCT 1961"), ["--datetime '%d %b %Y'"]),
        (("31 December 1974", "3 May 1961"), ["--datetime '%d %B %Y'"]),
        (("May 31, 1974", "May 3, 1961"), ["--datetime '%b %d, %Y'"]),
        (("31DEC1974", "03OCT1961"), ["--datetime '%d%b%Y'"]),
        (("31-Dec-74", "03-OCT-61"), ["--datetime '%d-%b-%y'"]),
        (("31. 12. 1974", "3. 1. 1961"), ["--datetime '%d. %m. %Y'"]),
        (("12/31/1974 8:15 AM", "1/3/1961 11:05 pm"), ["--datetime '%m/%d/%Y %I:%M %p'"]),
        (("31.12.1974, 08:15:30", "03.01.1961, 00:00:00"), ["--datetime '%d.%m.%Y, %H:%M:%S'"]),
        (("31 Foo 1974", "12 apples 2020"), []),
    ],
)
def test_the_options_that_read_a_column_are_found(cells: tuple[str, ...], flags: list[str]) -> None:
    assert [one.flags(Dialect()) for one in unread(column(*cells), Dialect())] == flags


def test_a_refusal_names_the_options_and_no_cell() -> None:
    meant = Column("pay", Role.QUASI, Kind.NOMINAL)
    said = refusal(meant, column(SECRET, "1.234,5", "x"), Dialect())
    assert "--decimal ',' --thousands '.'" in said
    assert "--kind pay=nominal" in said
    assert SECRET not in said
    assert not refusal(meant, column(SECRET, "x", "y"), Dialect())  # most cells are other text
    assert not refusal(Column("pay", Role.QUASI, Kind.NOMINAL, declared=True), column(SECRET), Dialect())


@given(st.lists(st.dates(dt.date(1930, 1, 1), dt.date(2029, 12, 31)), min_size=1), st.sampled_from(sorted(DATES)))
def test_every_date_is_read_as_it_was_written(days: list[dt.date], shape: str) -> None:
    for pattern in DATES[shape]:
        cells = column(*(day.strftime(pattern) for day in days))
        dialect = Dialect(datetime=pattern)
        assert values(cells, "x", Kind.DATETIME, dialect).to_pylist() == days
        found = [one.datetime for one in likely(count_conventions(cells, Dialect()), len(days))]
        short = pattern.replace("%B", "%b") in found and all(day.month == 5 for day in days)  # May is both
        assert (pattern in found or short) == (pattern != "%Y-%m-%d")  # which needs no option
        swapped = [one for one in DATES[shape] if one != pattern and "%b" not in pattern and "%B" not in pattern]
        both = all(day.day <= 12 for day in days)
        assert (len(found) > 1) == bool(swapped and both)


def test_two_digit_years_are_read_as_1930_to_2029() -> None:
    dialect = Dialect(datetime="%d.%m.%y")
    cells = column("01.01.30", "29.02.32", "31.12.68", "01.01.69", "31.12.99", "01.01.00", "31.12.29")
    years = [day.year for day in values(cells, "born", Kind.DATETIME, dialect).to_pylist()]
    assert years == [1930, 1932, 1968, 1969, 1999, 2000, 2029]
    moments = values(column("29.02.32 08:15"), "born", Kind.DATETIME, Dialect(datetime="%d.%m.%y %H:%M"))
    assert moments.to_pylist() == [dt.datetime(1932, 2, 29, 8, 15)]


def test_four_digits_are_required_where_the_format_has_them() -> None:
    dialect = Dialect(datetime="%d.%m.%Y")
    assert fits(column("03.01.1945", "03.01.45"), Kind.DATETIME, dialect).to_pylist() == [True, False]
    with pytest.raises(DataError, match=r"Most of these can be read with --datetime '%d\.%m\.%y'; if"):
        values(column("03.01.1945", "03.01.45"), "born", Kind.DATETIME, dialect)
