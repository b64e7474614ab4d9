"""The end of a file's name chooses the source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal import registry
from shoal.errors import ParameterError


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.csv", "Csv"),
        ("a.TSV", "Csv"),
        ("a.b.Data", "Csv"),
        ("a.csv.gz", "Csv"),
        ("a.parquet", "Parquet"),
        ("a.PQ", "Parquet"),
        ("a.arrow", "Arrow"),
        ("a.feather", "Arrow"),
        ("a.SAV", "Spss"),
        ("a.zsav", "Spss"),
        ("a.dta", "Stata"),
        ("a.sas7bdat", "Sas"),
        ("a.xpt", "Sas"),
    ],
)
def test_suffix_chooses(name: str, source: str) -> None:
    assert registry.for_file("io.sources", Path("folder.x", name)).__name__ == source


@pytest.mark.parametrize("name", ["people.xls", "people", "csv"])
def test_unknown_suffix_lists_the_known(name: str) -> None:
    with pytest.raises(ParameterError, match=r"\.csv.*\.parquet"):
        registry.for_file("io.sources", Path(name))


def test_choosing_does_not_load_arrow() -> None:
    code = (
        "import sys; from pathlib import Path; from shoal import registry; "
        "registry.for_file('io.sources', Path('a.csv')); registry.for_file('io.sinks', Path('a.csv')); "
        "heavy = {'pyarrow', 'pandas', 'polars', 'narwhals', 'pyreadstat', 'sqlalchemy', 'duckdb', 'openpyxl'}; "
        "assert not heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("place", "package", "extra"),
    [
        ("a.xlsx", "openpyxl", "excel"),
        ("sqlite:///a.db?table=t", "sqlalchemy", "sql"),
        ("duckdb:///a.duckdb?table=t", "duckdb", "duckdb"),
    ],
)
def test_a_package_that_is_not_there_is_named(
    place: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ParameterError, match=rf"needs the package {package}. Install it with pip install 'shoal\[{extra}\]'"
    ):
        shoal.audit_file(place, ["a"])


@pytest.mark.parametrize("room", ["io.sources", "io.sinks"])
@pytest.mark.parametrize("claim", ["suffixes", "schemes"])
def test_what_a_format_declares_is_what_its_class_claims(room: str, claim: str) -> None:
    makers = [registry.load(room, key) for key in registry.keys(room)]
    claimed = {name: maker for maker in makers for name in getattr(maker, claim, ())}
    assert {name: registry.load(room, key) for name, key in registry.declared(room, claim).items()} == claimed
