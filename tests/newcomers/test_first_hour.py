"""The first hour of four new users: from a file to a protected file with a report, in three commands."""

from __future__ import annotations

import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

pytestmark = pytest.mark.long

_SECONDS = 120.0  # of CPU: other tests run beside these, so that the clock tells little
_COMMANDS = 3


def _used() -> float:
    """Return the CPU seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Newcomer:
    """Types commands in an empty folder, as a new user would, and counts them and the time they take."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.commands, self.seconds = folder, 0, 0.0

    def types(self, command: str) -> str:
        """Run a command; return what it prints."""
        before = _used()
        found = subprocess.run(
            [sys.executable, "-m", "shoal", *shlex.split(command)],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        self.commands, self.seconds = self.commands + 1, self.seconds + _used() - before
        assert found.returncode == 0, f"shoal {command}\n{found.stdout}\n{found.stderr}"
        return found.stdout

    def copies(self, said: str, more: str) -> None:
        """Run the command that an inspection printed, with more options behind it."""
        start = "To protect the file: shoal "
        printed = [line.removeprefix(start) for line in said.splitlines() if line.startswith(start)]
        assert len(printed) == 1, said
        self.types(f"{printed[0]} {more}")

    def check(self, protected: str, report: str) -> None:
        """Check that the files are there, and that it was quick."""
        assert (self.folder / protected).stat().st_size > 0
        text = (self.folder / report).read_text(encoding="utf-8")
        assert "For statisticians" in text
        assert self.commands <= _COMMANDS
        assert self.seconds <= _SECONDS


@pytest.fixture
def newcomer(tmp_path: Path) -> Newcomer:
    """Return a user in an empty folder."""
    return Newcomer(tmp_path)


def _german(path: Path, n: int = 2_000) -> list[str]:
    """Write a CSV file as a German office would: semicolons, 1.234,50, 31.12.1980, Latin-1, blanks in the header."""
    rng = np.random.default_rng(7)
    births = np.datetime64("1940-01-01") + rng.integers(0, 22_000, n)
    incomes = rng.lognormal(7.8, 0.5, n)
    rows = ["Personennummer; Geburtsdatum ;Einkommen;Größe;Familienstand;Diagnose"]
    for i in range(n):
        year, month, day = str(births[i]).split("-")
        income = f"{incomes[i]:,.2f}".translate(str.maketrans(",.", ".,"))
        height = f"{rng.normal(171, 9):.1f}".replace(".", ",")
        marital = ("ledig", "verheiratet", "geschieden", "verwitwet")[rng.integers(4)]
        illness = ("Röteln", "Grippe", "Asthma", "keine", "Diabetes", "Migräne")[rng.integers(6)]
        rows.append(f"{100_000 + i};{day}.{month}.{year};{income};{height};{marital};{illness}")
    path.write_bytes(("\r\n".join(rows) + "\r\n").encode("cp1252"))
    return rows


def test_a_data_steward_with_a_german_file(newcomer: Newcomer) -> None:
    rows = _german(newcomer.folder / "personen.csv")
    said = newcomer.types("inspect personen.csv --recipe rezept.toml")
    assert "1.234,5" in said
    newcomer.copies(said, "--report bericht.html")
    newcomer.types(
        "audit personen-protected.csv --quasi Geburtsdatum,Einkommen,Größe,Familienstand --encoding cp1252 --decimal , "
        "--require k=5"
    )
    newcomer.check("personen-protected.csv", "bericht.html")
    raw = (newcomer.folder / "personen-protected.csv").read_bytes()
    head, *written = raw.decode("cp1252").removesuffix("\r\n").split("\r\n")
    assert len(written) + 1 == len(rows)
    assert head == "Geburtsdatum;Einkommen;Größe;Familienstand;Diagnose"  # trimmed; the number of the person is removed
    released = re.compile(r"\d\d\.\d\d\.(19|20)\d\d;\d+(,\d+)?;\d{3}(,\d+)?;[a-z]+;[A-Za-zäö]+")
    assert all(released.fullmatch(line) for line in written)


_LABELS = {
    "v1": "Respondent number",
    "v2": "Household number",
    "v3": "Year of birth",
    "v4": "Sex of respondent",
    "v5": "Highest level of education",
    "v6": "Net monthly income",
    "v7": "Sampling weight",
}
_VALUES = {"v4": {1.0: "male", 2.0: "female"}, "v5": {float(i): f"level {i}" for i in range(1, 6)}}


def _survey(path: Path, n: int = 3_000) -> None:
    """Write an SPSS survey with short names, labels of variables and of values."""
    pyreadstat = pytest.importorskip("pyreadstat")
    import pandas as pd

    rng = np.random.default_rng(11)
    households = np.sort(rng.integers(0, n // 2, n))
    frame = pd.DataFrame(
        {
            "v1": np.arange(1, n + 1).astype(float),
            "v2": households.astype(float),
            "v3": rng.integers(1930, 2008, n).astype(float),
            "v4": rng.integers(1, 3, n).astype(float),
            "v5": rng.integers(1, 6, n).astype(float),
            "v6": np.round(rng.lognormal(7.6, 0.6, n), 0),
            "v7": np.round(rng.uniform(0.5, 3.0, n), 3),
        }
    )
    pyreadstat.write_sav(frame, str(path), column_labels=_LABELS, variable_value_labels=_VALUES)


def test_a_statistician_with_an_spss_survey(newcomer: Newcomer) -> None:
    _survey(newcomer.folder / "survey.sav")
    said = newcomer.types("inspect survey.sav --recipe start.toml")
    assert "together = 'v2'" in said
    newcomer.copies(said, "--report report.html")
    newcomer.types("audit survey-protected.sav --quasi v3,v4,v5,v6 --require k=5")
    newcomer.check("survey-protected.sav", "report.html")
    data, kept = pytest.importorskip("pyreadstat").read_sav(newcomer.folder / "survey-protected.sav")
    assert len(data) == 3_000
    assert kept.column_names_to_labels == {
        name: label
        for name, label in _LABELS.items()
        if name not in ("v1", "v2")  # people and households
    }
    assert kept.variable_value_labels == _VALUES
    assert set(data["v4"]) == {1, 2}


def test_a_researcher_with_adult(newcomer: Newcomer, reference_data: Path) -> None:
    newcomer.types(
        f"protect {reference_data / 'adult.csv'} -o safe.csv --quasi age,workclass,education,marital-status,occupation,"
        "race,sex,native-country --confidential prediction --k 5 --report report.html"
    )
    newcomer.types(f"compare {reference_data / 'adult.csv'} safe.csv --columns age,hours-per-week")
    newcomer.check("safe.csv", "report.html")


def _million(path: Path, n: int = 1_000_000) -> None:
    rng = np.random.default_rng(3)
    numbers = {f"x{j}": np.round(rng.normal(size=n), 3) for j in range(4)}
    parquet.write_table(pa.table({**numbers, "value": rng.integers(0, 99, n)}), path)


def test_a_data_engineer_with_a_million_rows(newcomer: Newcomer) -> None:
    _million(newcomer.folder / "people.parquet")
    newcomer.types(
        "protect people.parquet -o safe.parquet --quasi x0,x1,x2,x3 --confidential value --report report.html"
    )
    newcomer.types("audit safe.parquet --quasi x0,x1,x2,x3 --require k=5")
    newcomer.check("safe.parquet", "report.html")
