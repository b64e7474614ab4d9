"""Files from other countries: inspected, then protected with what the inspection proposes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.types import Kind, Role

N = 60
RNG = np.random.default_rng(5)
PAY = RNG.uniform(200, 20_000, N).round(2)
AGE = RNG.integers(20, 80, N)
BORN = [np.datetime64("1975-01-01") + np.timedelta64(int(day), "D") for day in RNG.integers(0, 9000, N)]
GERMAN = {"encoding": "cp1252", "datetime": "%d.%m.%Y", "decimal": ",", "thousands": "."}


def number(value: float, decimal: str, thousands: str) -> str:
    return f"{value:,.2f}".translate({ord(","): thousands, ord("."): decimal})


def day(value: np.datetime64, pattern: str) -> str:
    return str(value.astype("datetime64[D]").item().strftime(pattern))


def rows(decimal: str, thousands: str, pattern: str, sign: str = ";") -> str:
    lines = [sign.join([" Nr", "Alter", "Einkommen", "Geburt", "Ort"])]
    for i in range(N):
        cells = [f"x{i}", str(AGE[i]), number(PAY[i], decimal, thousands), day(BORN[i], pattern), "München"]
        lines.append(sign.join(f'"{cell}"' if sign in cell else cell for cell in cells))
    return "\n".join(lines) + "\n"


CONVENTIONS: list[tuple[str, bytes, dict[str, str]]] = [
    ("German", rows(",", ".", "%d.%m.%Y").encode("cp1252"), GERMAN),
    (
        "French",
        rows(",", "\u202f", "%d/%m/%Y").encode(),
        {"datetime": "%d/%m/%Y", "decimal": ",", "thousands": " "},
    ),
    (
        "Swiss",
        rows(".", "\u2019", "%d.%m.%y").encode(),
        {"datetime": "%d.%m.%y", "thousands": "'"},
    ),
    (
        "American",
        rows(".", ",", "%m/%d/%Y", ",").encode("utf-8-sig"),
        {"datetime": "%m/%d/%Y", "thousands": ","},
    ),
    (
        "commas for everything",
        rows(",", ".", "%Y-%m-%d", ",").encode("utf-16"),
        {"decimal": ",", "thousands": ".", "delimiter": ","},
    ),
]


@pytest.mark.parametrize(("raw", "text"), [one[1:] for one in CONVENTIONS], ids=[one[0] for one in CONVENTIONS])
@pytest.mark.parametrize("by_recipe", [True, False])
def test_inspect_then_protect(
    raw: bytes, text: dict[str, str], by_recipe: bool, tmp_path: Path, run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_bytes(raw)
    found = json.loads(run("inspect", "in.csv", "--json", *(["--recipe", "start.toml"] if by_recipe else [])).out)
    assert found["text"] == text
    assert {one["name"]: (one["kind"], one["role"]) for one in found["columns"]} == {
        "Nr": ("nominal", "identifier"),
        "Alter": ("integer", "quasi"),
        "Einkommen": ("continuous", "quasi"),
        "Geburt": ("datetime", "quasi"),
        "Ort": ("nominal", "quasi"),
    }
    assert "Blanks around the name of column 'Nr' were removed." in found["notes"]
    shown = shlex.split(found["command"])
    assert shown[:2] == ["shoal", "protect"]
    ran = run(*shown[1:])
    assert (ran.code, ran.err) == (0, "")
    assert "Blanks around the name of column 'Nr' were removed." in ran.out
    mark = {b"\xff": "utf-16", b"\xef": "utf-8-sig"}.get(raw[:1])
    encoding = mark or text.get("encoding", "utf-8")
    released, given = (Path(name).read_bytes().decode(encoding).splitlines() for name in ("in-protected.csv", "in.csv"))
    assert released[0] == given[0].replace(" Nr", "")[1:]
    assert len(released) == len(given)


def protect(folder: Path, name: str, text: dict[str, str], **more: Any) -> Any:
    recipe = {"quasi": ["Alter", "Einkommen", "Geburt"], "identifier": ["Nr"], "k": 3, "row_order": "keep"}
    return shoal.protect(folder / name, {**recipe, "text": text}, output=folder / f"{name}.out.csv", **more)


def test_all_conventions_give_the_same_classes(tmp_path: Path) -> None:
    means = []
    for name, raw, text in CONVENTIONS:
        (tmp_path / name).with_suffix(".csv").write_bytes(raw)
        done = protect(tmp_path, f"{name}.csv", text)
        means.append([done.partition.labels.tolist(), done.printed.to_dict()])
    assert all(one == means[0] for one in means)


def test_the_output_is_written_as_the_input(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(CONVENTIONS[0][1])
    protect(tmp_path, "in.csv", GERMAN)
    first = (tmp_path / "in.csv.out.csv").read_text(encoding="cp1252").splitlines()[1].split(";")
    assert first[3] == "München"
    assert len(first[2].split(".")) == 3  # the date
    assert "," in first[1]
    assert "." not in first[1]  # released numbers have no thousands separators


def test_memory_and_disk_agree_and_every_command_reads_the_file(tmp_path: Path, run: Callable) -> None:
    lines = CONVENTIONS[0][1].decode("cp1252").splitlines()
    (tmp_path / "in.csv").write_bytes(CONVENTIONS[0][1])
    recipe = tmp_path / "r.toml"
    found = shoal.inspect(tmp_path / "in.csv", recipe=recipe)
    assert found.named(Role.QUASI) == ("Alter", "Einkommen", "Geburt", "Ort")
    outs = []
    for engine in ("memory", "disk"):
        out, evidence = tmp_path / f"{engine}.csv", tmp_path / f"{engine}.json"
        options = ["--recipe", recipe, "--row-order", "keep", "--engine", engine, "--set", "scale=range"]
        ran = run("protect", tmp_path / "in.csv", "-o", out, *options, "--evidence", evidence)
        assert (ran.code, ran.err) == (0, ""), engine
        assert "Blanks around" in ran.out
        outs.append(out)
        text = ["--decimal", ",", "--thousands", ".", "--datetime", "%d.%m.%Y", "--encoding", "cp1252"]
        assert run("verify", evidence, out).code == 0
        assert run("audit", out, "--quasi", "Alter,Einkommen,Geburt,Ort", "--require", "k=5", *text).code == 0
        assert run("compare", tmp_path / "in.csv", out, "--columns", "Einkommen,Geburt", *text).code == 0
        assert run("attack", tmp_path / "in.csv", out, "--recipe", recipe).code == 0
    assert [one.read_bytes()[:30] for one in outs] == [outs[0].read_bytes()[:30]] * 2
    assert len(outs[0].read_text(encoding="cp1252").splitlines()) == len(lines)


def test_confidential_numbers_keep_their_separators_and_are_ranked(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(CONVENTIONS[0][1])
    recipe = {"quasi": ["Alter"], "confidential": ["Einkommen"], "identifier": ["Nr", "Geburt"], "k": 3, "t": 0.4}
    done = shoal.protect(tmp_path / "in.csv", {**recipe, "text": GERMAN}, output=tmp_path / "out.csv")
    assert done.schema["Einkommen"].kind is Kind.CONTINUOUS
    released = [line.split(";")[1] for line in (tmp_path / "out.csv").read_text(encoding="cp1252").splitlines()[1:]]
    assert sorted(released) == sorted(number(one, ",", ".") for one in PAY)
    with pytest.raises(shoal.DataError, match=r"'Einkommen': most cells are numbers.*--decimal ',' --thousands '\.'"):
        shoal.protect(
            tmp_path / "in.csv",
            {**recipe, "text": {"encoding": "cp1252"}},
            output=tmp_path / "out.csv",
            force=True,
        )


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("role", ["quasi", "confidential"])
def test_unread_columns_are_refused_with_the_options(tmp_path: Path, engine: str, role: str) -> None:
    (tmp_path / "in.csv").write_bytes(CONVENTIONS[0][1])
    columns = {"quasi": ["Alter", "Einkommen", "Geburt"]} if role == "quasi" else {"confidential": ["Geburt"]}
    recipe = {"quasi": ["Alter"], "identifier": ["Nr"], "k": 3, **columns, "text": {"encoding": "cp1252"}}
    with pytest.raises(shoal.DataError) as refused:
        shoal.protect(tmp_path / "in.csv", recipe, output=tmp_path / "out.csv", engine=engine)
    assert ("--decimal ',' --thousands '.'" in str(refused.value)) == (role == "quasi")
    assert ("--datetime '%d.%m.%Y'" in str(refused.value)) == (role == "confidential" or engine == "memory")
    assert [one.name for one in tmp_path.iterdir()] == ["in.csv"]


def inspected(folder: Path, **columns: Sequence[str]) -> Any:
    table = [*zip(*columns.values(), strict=True)]
    lines = [";".join(columns), *(";".join(row) for row in table)]
    (folder / "in.csv").write_text("\n".join(lines) + "\n")
    return shoal.inspect(folder / "in.csv", recipe=folder / "start.toml", force=True)


DAYS = [f"{1 + i % 12:02d}/{1 + i % 11:02d}/2020" for i in range(30)]


def test_an_ambiguous_day_is_asked_for(tmp_path: Path) -> None:
    found = inspected(tmp_path, birth=DAYS, age=[str(20 + i) for i in range(30)])
    assert found.columns[0].kind is Kind.DATETIME
    assert "datetime" not in found.text
    assert found.choices == ({"datetime": "%d/%m/%Y"}, {"datetime": "%m/%d/%Y"})
    assert "no day is above 12, so dates may be day/month/year or month/day/year" in found.notes[0]
    assert '# datetime = "%m/%d/%Y"' in found.recipe
    with pytest.raises(shoal.DataError, match=r"Give --datetime '%d/%m/%Y' or --datetime '%m/%d/%Y'"):
        shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv")
    chosen = found.recipe.replace('# datetime = "%m/%d/%Y"', 'datetime = "%m/%d/%Y"')
    (tmp_path / "start.toml").write_text(chosen)
    assert shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv").audit.holds


def test_each_choice_has_a_command_that_runs(tmp_path: Path, run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inspected(Path(), birth=DAYS, income=[f"{1 + i},{100 + i}" for i in range(30)])
    ran = run("inspect", "in.csv", "--recipe", "start.toml", "--force")
    commands = [line for line in ran.out.splitlines() if line.startswith("shoal protect")]
    assert [line.partition("start.toml ")[2] for line in commands] == [
        f"--datetime '{date}' --{sign} ','" for date in ("%d/%m/%Y", "%m/%d/%Y") for sign in ("decimal", "thousands")
    ]
    assert "To protect the file, choose one of these commands:" in ran.out
    released = set()
    for command in commands:
        ran = run(*shlex.split(command)[1:], "--force", "--row-order", "keep")
        assert (ran.code, ran.err) == (0, "")
        released.add(Path("in-protected.csv").read_text())
    assert len(released) == len(commands)


def test_two_conventions_in_one_column_are_no_choice(tmp_path: Path, run: Callable) -> None:
    income = [number(pay, *(",.", ".,")[i % 2]) for i, pay in enumerate(PAY)]
    found = inspected(tmp_path, income=income, age=[str(one) for one in AGE])
    assert found.choices == ()
    assert (found.columns[0].role, found.refused) == (Role.QUASI, ("income",))
    assert "write all cells of the column one way" in found.notes[-1]
    ran = run("inspect", tmp_path / "in.csv")
    assert "The command needs the cells above to be corrected first." in ran.out
    with pytest.raises(shoal.DataError, match="'income': every cell must be a number"):
        shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv")


@pytest.mark.parametrize("written", ["{} €", "€{}", "{}%", "CHF {}", "{}\u202f%"])
def test_numbers_with_a_sign_beside_them_are_not_dropped_silently(tmp_path: Path, written: str) -> None:
    found = inspected(
        tmp_path,
        income=[written.format(number(pay, ",", ".")) for pay in PAY],
        share=[written.format(one // 15) for one in AGE],
        age=[str(one) for one in AGE],
    )
    assert [guess.role.value for guess in found.columns] == ["identifier", "identifier", "quasi"]
    assert all("currency, percent or other sign" in guess.reason for guess in found.columns[:2])
    assert found.notes == (
        "Columns 'income', 'share': most cells are numbers with a currency, percent or other sign, which are not read. "
        "They would be removed; remove the sign to release them.",
    )


@pytest.mark.parametrize(
    ("encoding", "sign", "name"),
    [
        ("cp1252", "\u00a0", "revenu"),
        ("cp1252", "\u2019", "Lohn"),
        ("cp850", "\u00a0", "revenu"),
        ("cp1252", "\u2019", "Löhne"),
    ],
)
def test_separators_of_thousands_tell_the_encoding(tmp_path: Path, encoding: str, sign: str, name: str) -> None:
    lines = [f"{name};age", *(f"{number(pay, '.', sign)};{age}" for pay, age in zip(PAY, AGE, strict=True))]
    (tmp_path / "in.csv").write_bytes("\n".join(lines).encode(encoding))
    found = shoal.inspect(tmp_path / "in.csv")
    assert found.text == {"encoding": encoding, "thousands": "'" if sign == "\u2019" else " "}
    assert (found.columns[0].name, found.columns[0].kind) == (name, Kind.CONTINUOUS)


def test_dates_that_no_format_reads_are_not_dropped_silently(tmp_path: Path) -> None:
    months = ["Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sep.", "Okt.", "Nov.", "Dez."]
    born = [f"{1 + i % 28}. {months[i % 12]} {1950 + i}" for i in range(N)]
    codes = [f"p{i}" for i in range(N)]
    short = [f"{50 + i % 40}-{1 + i % 12}-{13 + i % 16}" for i in range(N)]
    found = inspected(tmp_path, geburt=born, alter=[str(one) for one in AGE], Datum=born, nr=codes, v5=short)
    assert [guess.role.value for guess in found.columns] == ["identifier", "quasi", *["identifier"] * 3]
    removed = [f"Column '{name}' is removed" for name in ("geburt", "Datum", "v5")]
    assert [note.partition(":")[0] for note in found.notes] == removed
    table = shoal.inspect(pa.table({"geburt": [one.replace(".", "") for one in born], "alter": AGE}))
    assert "its cells look like dates" in table.notes[0]


@pytest.mark.parametrize(
    "pattern", ["%Y%m%d", "%d %b %Y", "%d%b%Y", "%B %d, %Y", "%d. %m. %Y", "%m/%d/%Y %I:%M %p", "%d.%m.%Y, %H:%M:%S"]
)
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_other_formats_of_dates_are_kept(tmp_path: Path, pattern: str, engine: str) -> None:
    found = inspected(tmp_path, born=[day(one, pattern) for one in BORN], age=[str(one) for one in AGE])
    assert (found.text, found.columns[0].kind) == ({"datetime": pattern}, Kind.DATETIME)
    options = {"engine": engine, "set": {"scale": "range"}}
    shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv", **options)
    again = shoal.inspect(tmp_path / "out.csv")
    assert (again.text, again.columns[0].kind) == ({"datetime": pattern}, Kind.DATETIME)


def test_whole_numbers_that_are_no_days_stay_numbers(tmp_path: Path) -> None:
    numbers = [str(20_200_101 + i) for i in range(40)]  # 20200132 is no day
    found = inspected(tmp_path, income=numbers, age=[str(20 + i) for i in range(40)])
    assert (dict(found.text), found.columns[0].kind) == ({}, Kind.INTEGER)


def test_a_single_record_has_no_command(tmp_path: Path) -> None:
    found = inspected(tmp_path, age=["33"], income=["1.234,50"])
    assert (found.command, found.commands) == ("", ())
    assert found.notes[-1] == "A single record cannot be protected: a class needs at least two records."


def test_another_column_may_tell(tmp_path: Path) -> None:
    found = inspected(tmp_path, birth=DAYS, admitted=[f"{1 + i % 28:02d}/03/2020" for i in range(30)])
    assert found.text == {"datetime": "%d/%m/%Y"}
    assert "Column 'birth': no day is above 12, so dates are read like those of other columns." in found.notes


def test_a_second_format_of_dates_is_not_dropped_silently(tmp_path: Path) -> None:
    iso = [f"2020-01-{1 + i % 28:02d}" for i in range(30)]
    found = inspected(tmp_path, birth=[f"{1 + i % 28:02d}.03.2020" for i in range(30)], seen=iso, other=iso)
    assert [guess.role.value for guess in found.columns] == ["identifier", "quasi", "quasi"]
    assert "second format" in found.columns[0].reason
    assert "They would be removed; convert them to release them." in found.notes[0]
    assert shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv").audit.holds


def test_a_second_convention_of_numbers_is_not_dropped_silently(tmp_path: Path) -> None:
    income = [f"1'{200 + i}.5{i % 10}" for i in range(30)]
    found = inspected(tmp_path, income=income, rent=[f"{400 + i},5" for i in range(30)], heat=["1,5", "2"] * 15)
    assert [guess.role.value for guess in found.columns] == ["identifier", "quasi", "other"]
    assert "numbers in a second format" in found.columns[0].reason
    assert found.notes[1] == (
        "Column 'income': numbers are written like 1'234.5, but only one convention can be read at a time, that of "
        "1234,5. They would be removed; convert them to release them."
    )
    assert shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv").audit.holds


def test_unreadable_cells_are_announced(tmp_path: Path) -> None:
    income = [*(f"1.{200 + i},5" for i in range(29)), "ask her"]
    found = inspected(tmp_path, income=income, age=[str(i) for i in range(30)])
    assert found.notes[-1] == (
        "Column 'income': every cell must be a number; 1 of 30 cannot be read as one, in data row 30. Correct the "
        "cell, declare it missing (--missing), or give the column another role."
    )
    assert "ask her" not in str(found.to_dict())
    again = shoal.inspect(tmp_path / "in.csv", text={"missing": ["ask her"]})
    assert not any("cannot be read" in note for note in again.notes)


@pytest.mark.parametrize("word", ["NA", "k.A.", "-", ".", "#N/A", "null", "keine Angabe"])
@pytest.mark.parametrize("share", [10, 2])
@pytest.mark.parametrize("by_recipe", [True, False])
def test_words_for_a_missing_value_are_proposed(
    tmp_path: Path, run: Callable, monkeypatch: pytest.MonkeyPatch, word: str, share: int, by_recipe: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    income = [word if i % share else number(pay, ",", ".") for i, pay in enumerate(PAY)]
    age = ["n.v." if i == 7 else str(one) for i, one in enumerate(AGE)]
    kind = [(word, "a", "b")[i % 3] for i in range(N)]
    found = inspected(tmp_path, einkommen=income, alter=age, art=kind)
    assert found.text == {"missing": [word, "n.v."], "decimal": ",", "thousands": "."}
    assert [(one.kind.value, one.missing > 0) for one in found.columns] == [
        ("continuous", True),
        ("integer", True),
        ("nominal", True),
    ]
    assert "are read as missing, in all columns." in found.notes[0]
    shown = run("inspect", "in.csv", *(["--recipe", "start.toml", "--force"] if by_recipe else [])).out
    (command,) = [line.removeprefix("To protect the file: ") for line in shown.splitlines() if "-o in-pro" in line]
    ran = run(*shlex.split(command)[1:], "--row-order", "keep")
    assert (ran.code, ran.err) == (0, "")
    released = [line.split(";") for line in Path("in-protected.csv").read_text().splitlines()[1:]]
    assert word not in {row[0] for row in released}
    assert [row[2] for row in released] == kind  # released unchanged, as written
    assert not shoal.inspect("in.csv", text={"missing": []}).text["missing"]


def test_words_beside_other_text_are_categories(tmp_path: Path) -> None:
    found = inspected(tmp_path, mark=["a", "NA", "-"] * 10, age=[str(20 + i) for i in range(30)])
    assert (dict(found.text), found.columns[0].missing, found.notes) == ({}, 0, ())


def test_three_digits_after_a_point_or_a_comma_are_ambiguous(tmp_path: Path) -> None:
    points = inspected(tmp_path, income=[f"{1 + i}.{100 + i}" for i in range(30)])
    assert (points.columns[0].kind, dict(points.text)) == (Kind.CONTINUOUS, {})
    assert "read as a decimal sign; if it separates thousands, give --decimal ',' --thousands '.'." in points.notes[0]
    commas = inspected(tmp_path, income=[f"{1 + i},{100 + i}" for i in range(30)])
    assert (commas.columns[0].kind, dict(commas.text)) == (Kind.CONTINUOUS, {})
    assert commas.choices == ({"decimal": ","}, {"thousands": ","})
    both = inspected(
        tmp_path, income=[f"{1 + i}.{100 + i}" for i in range(30)], rent=[f"1.{200 + i},5" for i in range(30)]
    )
    assert both.text == {"decimal": ",", "thousands": "."}
    assert both.columns[0].kind is Kind.INTEGER


def test_points_beside_hundreds_separate_thousands(tmp_path: Path) -> None:
    pay, hundreds = [str(2_835 + 7 * i) for i in range(40)], ["950", "870", "999"] * 4
    grouped = [number(float(one), ",", ".").partition(",")[0] for one in pay] + hundreds
    found = inspected(tmp_path, income=grouped, age=[str(20 + i) for i in range(52)])
    assert (dict(found.text), found.columns[0].kind) == ({"decimal": ",", "thousands": "."}, Kind.INTEGER)
    assert "If points are decimal signs, inspect with --decimal '.'." in found.notes[0]
    assert dict(shoal.inspect(tmp_path / "in.csv", text={"decimal": "."}).text) == {"decimal": "."}
    for other in ("1500", "2.83", "0.125", "50"):  # a number without a separator, decimals, and too few hundreds
        cells = [*grouped[:-12], *[other] * 12] if other == "50" else [*grouped[:-1], other]
        found = inspected(tmp_path, income=cells, age=[str(20 + i) for i in range(52)])
        assert (dict(found.text), found.columns[0].kind) == ({}, Kind.CONTINUOUS)


def test_two_digit_years_state_their_century(tmp_path: Path) -> None:
    found = inspected(tmp_path, birth=[f"{1 + i % 28:02d}.03.{45 + i}" for i in range(30)])
    assert found.text == {"datetime": "%d.%m.%y"}
    assert "Two-digit years are read as 1930 to 2029" in found.notes[1]
    done = shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv", row_order="keep")
    released = {line[-2:] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]}
    assert done.audit.holds
    assert min(released) < "69" < max(released)  # classes of neighbouring years, not of 1969 and 2068
    assert {int(one) for one in released} <= set(range(45, 75))


def test_what_is_given_is_kept(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(CONVENTIONS[0][1])
    found = shoal.inspect(tmp_path / "in.csv", text={"encoding": "latin-1", "decimal": "."})
    assert found.text["encoding"] == "latin-1"
    assert found.text["decimal"] == "."
    assert "thousands" not in found.text


def test_ordinary_files_are_read_as_before(tmp_path: Path) -> None:
    found = inspected(
        tmp_path,
        code=[f"0{i:03d}" for i in range(30)],
        address=[f"10.0.0.{i}" for i in range(30)],
        age=[str(i) for i in range(30)],
        pay=[f"{i}.5" for i in range(30)],
        born=[f"2020-01-{1 + i % 28:02d}" for i in range(30)],
        words=["a, b", "c. d", "e - f"] * 10,
    )
    assert (dict(found.text), found.notes, found.choices) == ({}, (), ())


GERMAN_MONTHS = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September"]
GERMAN_MONTHS += ["Oktober", "November", "Dezember"]
LOOK_LIKE = {
    "months": ["{m:02d}/{y}", "{y}-{m:02d}", "{name} {y}", "{short}-{yy:02d}"],
    "quarters": ["{y}-Q{q}", "Q{q} {y}"],
    "dates": ["{d}. {name} {y}", "{d}th {name} {y}", "Mon, {d} {short} {y}", "{d}.{m}.{y} 08:15 Uhr"],
    "days of a year": ["{d:02d}.{m:02d}."],
    "times or durations": ["{d}:{m:02d}", "{d:02d}:{m:02d}:15", "{d}h{m:02d}", "{m:02d}:{d:02d} PM"],
    "numbers with a unit": ["{d},5 kg", "{pay} m²", "< {d},{m}", "Fr. {pay}.-", "'{pay}", "{pay},-", "({pay})"],
}


@pytest.mark.parametrize(("what", "written"), [(what, one) for what, all_ in LOOK_LIKE.items() for one in all_])
@pytest.mark.parametrize("repeated", [1, 4])
def test_numbers_and_dates_that_cannot_be_read_are_named(
    tmp_path: Path, what: str, written: str, repeated: int
) -> None:
    cells = []
    for i in range(N):
        y, m, d = (int(part) for part in str(BORN[i // repeated]).split("-"))
        name, pay = GERMAN_MONTHS[m - 1], int(PAY[i // repeated])
        cells.append(written.format(y=y, yy=y % 100, m=m, d=d, q=(m + 2) // 3, name=name, short=name[:3], pay=pay))
    found = inspected(tmp_path, v7=cells, age=[str(one) for one in AGE])
    assert found.columns[0].kind is Kind.NOMINAL
    notes = [note for note in found.notes if note.startswith("Column 'v7' is ")]
    assert len(notes) == 1
    removed = found.columns[0].role is Role.IDENTIFIER
    assert notes[0].startswith(f"Column 'v7' is {'removed' if removed else 'read as categories'}: its cells")
    assert what in notes[0] or (removed and "have digits" in notes[0])


CODES = {
    "postcode": ["0106{}", "PL-0{}-950", "1010{}-000{}"],
    "phone": ["+49 30 123{}", "(212) 555-01{}", "01 23 45 67 {}"],
    "version": ["1.{}.0", "10.0.0.{}", "v1.{}"],
    "ICD": ["E1{}.9", "F{}"],
    "score": ["{}-1", "{}:1", "{}/4"],
    "code": ["A{}", "DE{}", "ABC{}", "XYZ 1{}", "{}A-7", "756.1234.56{}.90"],
}


@pytest.mark.parametrize(("what", "written"), [(what, one) for what, all_ in CODES.items() for one in all_])
@pytest.mark.parametrize("different", [6, 60])
def test_codes_are_not_taken_for_numbers(tmp_path: Path, what: str, written: str, different: int) -> None:
    cells = [written.format(i % different % 10 if different < 10 else i, 1 + i % 6) for i in range(N)]
    found = inspected(tmp_path, v7=cells, age=[str(one) for one in AGE])
    assert (found.columns[0].kind, dict(found.text)) == (Kind.NOMINAL, {})
    assert found.notes == () or (different == 60 and "If they are dates or numbers" in found.notes[0])


@pytest.mark.parametrize("written", ["{m}.{y}", "{y}{m:02d}"])
def test_months_that_are_read_as_numbers_are_named(tmp_path: Path, written: str) -> None:
    cells = [written.format(y=str(one)[:4], m=int(str(one)[5:7])) for one in BORN]
    found = inspected(tmp_path, v7=cells, age=[str(one) for one in AGE])
    assert found.notes[-1].startswith("Column 'v7' is read as numbers: its cells look like months")
    assert not inspected(tmp_path, v7=[str(196_300 + i) for i in range(N)], age=cells).notes[1:]


def test_dates_beside_another_word_are_named(tmp_path: Path) -> None:
    died = ["alive" if i % 5 else day(BORN[i], "%d.%m.%Y") for i in range(N)]
    found = inspected(tmp_path, died=died, age=[str(one) for one in AGE])
    assert "Column 'died' is read as categories: its cells look like dates beside other text" in found.notes[-1]


def test_amounts_that_all_differ_are_not_removed_silently(tmp_path: Path) -> None:
    found = inspected(tmp_path, price=[str(100_000 + 7919 * i) for i in range(N)], age=[str(one) for one in AGE])
    assert found.columns[0].role is Role.IDENTIFIER
    assert "If they are amounts or times, move it from identifier to quasi." in found.notes[0]


@pytest.mark.parametrize("code", ["999", "-9", "99999", "-99"])
def test_codes_far_from_all_other_numbers_are_named(tmp_path: Path, run: Callable, code: str) -> None:
    age = [code if i % 9 == 0 else str(one) for i, one in enumerate(AGE)]
    pay = ["NA" if i == 3 else "99999,00" if i == 4 else number(one, ",", "") for i, one in enumerate(PAY)]
    ended = ["31.12.9999" if i % 7 == 0 else day(one, "%d.%m.%Y") for i, one in enumerate(BORN)]
    found = inspected(tmp_path, age=age, income=pay, ended=ended)
    option = rf"--missing 'NA,{code},99999\,00,31.12.9999', for all columns"
    assert [note.partition(":")[0] for note in found.notes if "often means a missing value" in note] == [
        f"Column '{name}'" for name in ("age", "income", "ended")
    ]
    assert all(option in note for note in found.notes if "often means" in note)
    given = shlex.split(option.partition(", for")[0])
    ran = run("protect", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--recipe", tmp_path / "start.toml", *given)
    assert (ran.code, ran.err) == (0, "")
    assert "9999" not in (tmp_path / "out.csv").read_text()
    again = shoal.inspect(tmp_path / "in.csv", text={"missing": ["NA", code, "99999,00", "31.12.9999"]})
    assert not any("often means" in note for note in again.notes)


def test_ages_and_years_are_no_codes(tmp_path: Path) -> None:
    age = [str(99 if i == 3 else one) for i, one in enumerate(AGE)]
    born, delta = [day(one, "%Y-%m-%d") for one in BORN], [str(one - 50) for one in AGE]
    found = inspected(tmp_path, age=age, born=born, delta=delta)
    assert found.notes == ()


def test_indian_groups_are_read_with_commas(tmp_path: Path) -> None:
    cells = []
    for pay in PAY:
        whole, _, cents = f"{pay * 100:.2f}".partition(".")
        head, groups = whole[:-3], [whole[-3:]]
        while head:
            head, groups = head[:-2], [head[-2:], *groups]
        cells.append(f"{','.join(groups)}.{cents}")
    assert sum(cell.count(",") > 1 for cell in cells) > 30  # lakhs
    found = inspected(tmp_path, income=cells, age=[str(one) for one in AGE])
    assert (dict(found.text), found.columns[0].kind) == ({"thousands": ","}, Kind.CONTINUOUS)
    done = shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv")
    released = [float(line.split(";")[0]) for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert done.audit.holds
    assert np.mean(released) == pytest.approx(100 * PAY.mean(), rel=1e-6)


@pytest.mark.parametrize("written", ["({})", "{}-", "\u2212{}", "\u2013{}", "- {}"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_negative_numbers_in_other_notations_are_named(tmp_path: Path, written: str, engine: str) -> None:
    cells = [number(pay, ",", ".") if i % 3 else written.format(number(pay, ",", ".")) for i, pay in enumerate(PAY)]
    found = inspected(tmp_path, income=cells, age=[str(one) for one in AGE])
    assert "20 of 60 cannot be read as one" in found.notes[-1]
    remedy = "Most of these look like negative numbers: write them with a hyphen before the number, like -5."
    assert found.notes[-1].endswith(remedy)
    with pytest.raises(shoal.DataError, match=remedy):
        shoal.protect(tmp_path / "in.csv", tmp_path / "start.toml", output=tmp_path / "out.csv", engine=engine)


@pytest.mark.parametrize("title", ["Report of 1 May\n", "Office\nMay 2024\n\n", "# export\n"])
def test_titles_above_the_header_are_named(tmp_path: Path, title: str) -> None:
    (tmp_path / "in.csv").write_text(title + rows(",", ".", "%d.%m.%Y"))
    found = shoal.inspect(tmp_path / "in.csv")
    assert "delete the lines above their names, or give --delimiter" in found.notes[0]


def test_titles_padded_with_delimiters_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("Report;;;;\n" + rows(",", ".", "%d.%m.%Y"))
    with pytest.raises(shoal.SchemaError, match="Name them; if the first line is a title, delete it"):
        shoal.inspect(tmp_path / "in.csv")


def test_another_delimiter_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(rows(",", ".", "%d.%m.%Y", "~"))
    assert "or give --delimiter" in shoal.inspect(tmp_path / "in.csv").notes[1]
    assert not any("--delimiter" in note for note in inspected(tmp_path, age=[str(one) for one in AGE]).notes)


@pytest.mark.parametrize("repeated", [False, True])
def test_a_missing_or_repeated_header_is_named(tmp_path: Path, repeated: bool) -> None:
    head, *lines = rows(",", ".", "%d.%m.%Y").splitlines()
    lines = [head, *lines[:20], head, *lines[20:]] if repeated else lines
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    (note,) = [one for one in shoal.inspect(tmp_path / "in.csv").notes if one.startswith("The names of")]
    assert "of 5 columns look like values, or occur among the cells below" in note


@pytest.mark.parametrize("total", ["Summe;;1.000,00;;", ";;1.000,00;;Total:", "gesamt: 60;1;2;;x"])
def test_a_total_in_the_last_row_is_named(tmp_path: Path, total: str) -> None:
    (tmp_path / "in.csv").write_text(rows(",", ".", "%d.%m.%Y") + total + "\n")
    (note,) = [one for one in shoal.inspect(tmp_path / "in.csv").notes if "looks like a total" in one]
    assert note.startswith("Data row 61, the last one")


def test_years_as_names_and_a_category_called_total_are_no_sign_of_anything(tmp_path: Path) -> None:
    years = {str(year): [str(one + year) for one in AGE] for year in range(2019, 2023)}
    found = inspected(tmp_path, **years, part=["total", "half"] * (N // 2 - 1) + ["half", "total"])
    assert not any("total of" in note or "names of" in note for note in found.notes)


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("Łódź;Kraków;Gdańsk;Paweł;ząb;żona;Dochód", "cp1250"),
        ("Łódź;Kraków;Gdańsk;Paweł;ząb;żona;Dochód", "iso8859-2"),
        ("Příbram;Děčín;čtvrť;žena;město", "cp1250"),
        ("Köln;Größe;80 m³;90 °C;12,50 €;£500", "cp1252"),
        ("12,50 €;3 €", "cp1252"),
        ("año;niño;¿qué?;España", "cp1252"),
        ("élève;cœur;L’hôtel;1\u00a0234", "cp1252"),
        ("Ærø;København;blåbær", "cp1252"),
        ("Köln;Größe;München", "cp850"),
    ],
)
def test_letters_tell_the_encoding(tmp_path: Path, words: str, encoding: str) -> None:
    cells = words.split(";")
    lines = ["name;age", *(f"{cells[i % len(cells)]};{age}" for i, age in enumerate(AGE))]
    (tmp_path / "in.csv").write_bytes("\n".join(lines).encode(encoding))
    assert shoal.inspect(tmp_path / "in.csv").text["encoding"] == encoding


def test_versions_and_chapters_are_no_dates(tmp_path: Path) -> None:
    versions = [f"{1 + i % 3}.{i % 5}.{10 + i % 50}" for i in range(N)]  # a month is 0 in a fifth of them
    found = inspected(tmp_path, v7=versions, age=[str(one) for one in AGE])
    assert (dict(found.text), found.columns[0].kind, found.refused) == ({}, Kind.NOMINAL, ())
    born = ["00.00.00" if i % 5 == 0 else day(one, "%d.%m.%y") for i, one in enumerate(BORN)]
    assert inspected(tmp_path, v7=born, age=[str(one) for one in AGE]).text == {"datetime": "%d.%m.%y"}


@pytest.mark.parametrize(("zero", "pattern"), [("00.00.0000", "%d.%m.%Y"), ("0000-00-00", "%Y-%m-%d")])
def test_days_of_zeros_mean_missing(tmp_path: Path, zero: str, pattern: str) -> None:
    born = [zero if i % 5 == 0 else day(one, pattern) for i, one in enumerate(BORN)]
    found = inspected(tmp_path, born=born, age=[str(one) for one in AGE])
    assert (found.text["missing"], found.columns[0].kind, found.refused) == ([zero], Kind.DATETIME, ())


@pytest.mark.parametrize("end", ["08:15:30.123", "08:15:30.123456Z", "08:15"])
def test_moments_of_any_resolution_are_inspected(tmp_path: Path, end: str) -> None:
    seen = [f"{'9999-12-31' if i == 3 else one} {end}" for i, one in enumerate(BORN)]
    found = inspected(tmp_path, seen=seen, age=[str(one) for one in AGE])
    assert found.columns[0].kind is Kind.DATETIME
    moments = np.array([one.removesuffix("Z") for one in seen if one[0] != "9"], "datetime64[us]")
    for unit in ("us", "ns"):
        table = pa.table({"seen": moments.astype(f"datetime64[{unit}]"), "age": AGE[: len(moments)]})
        assert shoal.inspect(table).columns[0].kind is Kind.DATETIME
