"""Tables of any kind become SPSS and Stata files, or a sentence says why not."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyreadstat
import pytest

from shoal.errors import DataError, ParameterError, SchemaError
from shoal.io.sinks.spss import Spss
from shoal.io.sinks.stata import Stata
from shoal.io.sources.spss import Spss as SpssSource
from shoal.io.sources.stata import Stata as StataSource
from shoal.types.statistical_files import Variable

SINKS = [(Spss(), SpssSource(), "a.sav"), (Stata(), StataSource(), "a.dta")]
SECRET = 271828


def plain() -> pa.Table:
    return pa.table(
        {
            "integer": pa.array([1, None, -3], pa.int16()),
            "large": [2**53, 1, None],
            "number": [1.5, float("nan"), None],
            "exact": pa.array([Decimal("1.50"), None, Decimal("2.25")]),
            "text": ["é", "", None],
            "flag": [True, None, False],
            "group": pa.array(["x", "y", None]).dictionary_encode(),
            "day": [dt.date(1900, 2, 28), None, dt.date(2100, 1, 1)],
            "moment": pa.array([dt.datetime(2020, 1, 2, 3, 4, 5, 678000), None, None], pa.timestamp("ns")),
            "nothing": pa.nulls(3),
        }
    )


@pytest.mark.parametrize(("sink", "source", "name"), SINKS)
def test_tables_of_other_formats(tmp_path: Path, sink: Any, source: Any, name: str) -> None:
    sink.write(plain(), tmp_path / name, None)
    got = source.read(tmp_path / name)[0].to_pydict()
    want = {**plain().to_pydict(), "number": [1.5, None, None], "text": ["é", None, None], "exact": [1.5, None, 2.25]}
    assert got == {**want, "moment": [dt.datetime(2020, 1, 2, 3, 4, 5, 678000), None, None]}
    fitted = sink.fitted(plain())
    assert sink.fitted(fitted).equals(fitted, check_metadata=True)


BAD = {
    "huge": (pa.array([2**53 + 1, 1]), "integers beyond 2\\^53 in 1 records"),
    "unsigned": (pa.array([2**64 - 1], pa.uint64()), "integers beyond 2\\^53"),
    "infinite": (pa.array([float("inf")]), "numbers too large for the format in 1 records"),
    "zone": (pa.array([0], pa.timestamp("ms", "UTC")), "has a time zone"),
    "fine": (pa.array([1], pa.timestamp("ns")), "does not hold exactly"),
    "list": (pa.array([[SECRET]]), "must hold numbers, text"),
    "digits": (pa.array([Decimal("1.23456789012345678901")]), "more digits than a double holds"),
    "nul": (pa.array(["a\0b"]), "character NUL"),
}


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("sink", [Spss(), Stata()])
def test_what_the_formats_cannot_hold(tmp_path: Path, sink: Any, fault: str) -> None:
    column, message = BAD[fault]
    with pytest.raises(DataError, match=f"column '{fault}' .*{message}") as caught:
        sink.write(pa.table({fault: column}), tmp_path / "a", None)
    assert str(SECRET) not in str(caught.value)


def test_all_faults_at_once() -> None:
    with pytest.raises(DataError) as caught:
        Spss().fitted(pa.table({"a": [[1]], "b": ["x "], "c": ["y" * 40_000]}))
    assert str(caught.value).count("\n") == 2


@pytest.mark.parametrize("name", ["1a", "a b", "a-b", "_a", "all", "a" * 65, "ä" * 33])
def test_names_that_spss_has_not(name: str) -> None:
    with pytest.raises(SchemaError, match="SPSS: the name of a column must have at most 64 bytes"):
        Spss().fitted(pa.table({name: [1]}))


def test_names_that_differ_in_capitals_only() -> None:
    with pytest.raises(SchemaError, match="more than upper and lower case; these do not: 'a', 'A'"):
        Spss().fitted(pa.table({"a": [1], "A": [2]}))


@pytest.mark.parametrize("name", ["1a", "a b", "a.b", "int", "str12", "_n", "a" * 33])
def test_names_that_stata_has_not(name: str) -> None:
    with pytest.raises(SchemaError, match="Stata: the name of a column must have at most 32 characters"):
        Stata().fitted(pa.table({name: [1]}))


def test_names_that_are_fine(tmp_path: Path) -> None:
    for sink, names in ((Spss(), ["a.b", "é1", "a$", "a" * 64]), (Stata(), ["_a", "é1", "a" * 32])):
        sink.write(pa.table({name: [1] for name in names}), tmp_path / "a", None)


def test_versions_without_unicode() -> None:
    label = Variable("stata", label="Größe").onto(pa.field("x", pa.int64()))
    table = pa.table(
        [pa.chunked_array([[1]]), pa.chunked_array([["é"]])], schema=pa.schema([label, ("s", pa.string())])
    )
    Stata(14).fitted(table)
    with pytest.raises(DataError, match="Stata 13 has ASCII characters only") as caught:
        Stata(13).fitted(table)
    assert str(caught.value).count("Set stata_version to 14") == 2
    with pytest.raises(SchemaError, match="name of a column"):
        Stata(13).fitted(pa.table({"é": [1]}))
    with pytest.raises(DataError, match="at most 243 bytes, got 300"):
        Stata(12).fitted(pa.table({"s": ["a" * 300]}))
    with pytest.raises(ParameterError, match="stata_version must be an integer ≥ 8 and ≤ 15, got 7"):
        Stata(7)


def test_codes_of_spss_are_letters_in_stata_and_codes_again(tmp_path: Path) -> None:
    pay = Variable(
        "spss", missing=((-9.0, -8.0), (99.0, 99.0)), labels=((-9.0, "refused"), (99.0, "unknown"), (1.0, "one"))
    )
    table = pa.table([pa.chunked_array([[1, -9, None, 99]])], schema=pa.schema([pay.onto(pa.field("pay", pa.int64()))]))
    Stata().write(table, tmp_path / "a.dta", None)
    values, meta = pyreadstat.read_dta(tmp_path / "a.dta", user_missing=True, output_format="dict")
    assert values["pay"] == [1, "a", None, "b"]
    assert meta.variable_value_labels == {"pay": {"a": "refused", "b": "unknown", 1: "one"}}
    Spss().write(StataSource().read(tmp_path / "a.dta")[0], tmp_path / "a.sav", None)
    values, meta = pyreadstat.read_sav(tmp_path / "a.sav", user_missing=True, output_format="dict")
    assert values["pay"] == [1, 2_147_483_622, None, 2_147_483_623]
    assert meta.missing_ranges == {"pay": [{"lo": 2_147_483_622.0, "hi": 2_147_483_647.0}]}
    assert meta.variable_value_labels["pay"][2_147_483_622.0] == "refused"


def test_more_codes_than_letters() -> None:
    many = Variable("spss", missing=((1, 99),)).onto(pa.field("x", pa.int64()))
    table = pa.table([pa.chunked_array([list(range(100))])], schema=pa.schema([many]))
    with pytest.raises(DataError, match="at most 26 values declared as missing, got 99"):
        Stata().fitted(table)
