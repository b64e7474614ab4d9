"""Labels, repeated keys, free text, coordinates and columns that were not reviewed, as an inspection finds them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import shoal
from shoal.flow.inspect import uniques
from shoal.types import Inspection, Role

N = 240
RNG = np.random.default_rng(5)
LABELS = {
    "v1": ("Person identifier", np.arange(N) * 7, "identifier"),
    "v2": ("Haushaltsnummer", np.arange(N) // 3, "identifier"),
    "v3": ("Date of birth of respondent", pd.date_range("1950-01-01", periods=N).date, "quasi"),
    "v4": ("Sampling weight", RNG.uniform(1, 9, N), "weight"),
    "v5": ("Monatliches Nettoeinkommen", RNG.uniform(500, 9000, N).round(2), "quasi"),
    "v6": ("Zufriedenheit der befragten Person", RNG.integers(0, 11, N), "other"),
    "v7": ("Körpergewicht in kg", RNG.uniform(50, 99, N).round(1), "quasi"),
    "v8": ("Chronic illness", RNG.integers(1, 3, N), "confidential"),
}


def roles(found: Inspection) -> dict[str, str]:
    return {one.name: one.role.value for one in found.columns}


@pytest.mark.parametrize("end", ["sav", "dta"])
def test_labels_of_statistical_files_suggest_roles(tmp_path: Path, run: Callable, end: str) -> None:
    frame = pd.DataFrame({name: values for name, (_, values, _) in LABELS.items()})
    path = tmp_path / f"survey.{end}"
    write = pyreadstat.write_sav if end == "sav" else pyreadstat.write_dta
    write(frame, str(path), column_labels={name: label for name, (label, _, _) in LABELS.items()})
    found = shoal.inspect(path)
    assert roles(found) == {name: role for name, (_, _, role) in LABELS.items()}
    assert {one.name: one.label for one in found.columns} == {name: label for name, (label, _, _) in LABELS.items()}
    assert '"v3",  # Date of birth of respondent: labelled like a date of birth' in found.recipe
    assert '# together = "v2"' in found.recipe
    assert json.loads(run("inspect", str(path), "--json").out)["columns"][4]["label"] == "Monatliches Nettoeinkommen"
    shoal.Recipe.from_toml(found.recipe)


def test_labels_of_arrow_fields_are_read_and_cannot_break_the_recipe() -> None:
    field = pa.field("q7", pa.int64(), metadata={"description": "Age\n] of respondent"})
    found = shoal.inspect(pa.table([pa.array(RNG.integers(18, 90, N))], schema=pa.schema([field])))
    assert found.columns[0].label == "Age ] of respondent"
    assert roles(found) == {"q7": "quasi"}
    shoal.Recipe.from_toml(found.recipe)


def households(own: str, per: int = 3) -> pa.Table:
    """Return a table whose column ``nr`` repeats; records of one number agree in region, and in the column named."""
    key = RNG.permutation(np.arange(N) // per)
    sex, birth = RNG.choice(["f", "m"], N), RNG.integers(1930, 2010, N)
    agree = {"sex": sex[key], "birth_year": birth[key]}
    columns = {"nr": key + 100, "sex": sex, "birth_year": birth, "zone": (key * 7919 % 11)}
    return pa.table({**columns, **({} if own == "none" else agree)})


def test_numbers_that_repeat_next_to_people_suggest_households() -> None:
    found = shoal.inspect(households("none"))
    assert roles(found)["nr"] == "identifier"
    assert '# together = "nr"' in found.recipe
    (note,) = found.notes
    assert "its 80 values have 3.0 records each" in note
    assert "differ in 'sex', 'birth_year'. This suggests a household" in note


def test_numbers_that_repeat_with_the_same_person_are_subjects() -> None:
    found = shoal.inspect(households("person"))
    assert roles(found)["nr"] == "subject"
    assert 'subject = "nr"' in found.recipe
    assert "This suggests a person with several records" in found.notes[0]


def test_without_attributes_of_people_the_user_decides() -> None:
    found = shoal.inspect(households("none").select(["nr", "zone"]))
    assert roles(found)["nr"] == "identifier"
    assert "tells whether a value is a household or a person" in found.notes[0]


@pytest.mark.parametrize("per", [1, 8, 40])
def test_numbers_that_repeat_never_or_often_suggest_no_household(per: int) -> None:
    assert not shoal.inspect(households("none", per)).notes


def test_numbers_whose_records_agree_in_nothing_are_no_key() -> None:
    sex = RNG.choice(["f", "m"], N)
    table = pa.table({"score": RNG.integers(0, 80, N), "sex": sex, "other": RNG.integers(0, 5, N)})
    assert not shoal.inspect(table).notes


def test_free_text_is_removed_with_the_reason_even_if_its_name_is_confidential() -> None:
    words = np.array(["the", "patient", "fell", "at", "home", "in", "spring", "and", "was", "seen", "by", "doctor"])
    texts = [" ".join(RNG.permutation(words)[:8]) for _ in range(N)]
    towns = [f"Bad Homburg vor der Höhe {i % 9}" for i in range(N)]
    found = shoal.inspect(pa.table({"diagnosis_note": texts, "kind": towns, "age": RNG.integers(0, 90, N)}))
    assert roles(found) == {"diagnosis_note": "identifier", "kind": "other", "age": "quasi"}
    assert found.notes[0].startswith("Column 'diagnosis_note' holds free text")
    assert '"diagnosis_note",  # free text' in found.recipe


@pytest.mark.parametrize("common", ["n/a", "nothing to add to this question"])
def test_free_text_is_recognised_beside_a_frequent_answer(common: str) -> None:
    rng, n = np.random.default_rng(4), 300
    words = [
        "she",
        "told",
        "me",
        "that",
        "the",
        "doctor",
        "moved",
        "to",
        "another",
        "town",
        "after",
        "her",
        "long",
        "illness",
    ]
    own = [" ".join(rng.permutation(words)) for _ in range(n)]
    data = pa.table(
        {
            "v1": [common if i % 4 else text for i, text in enumerate(own)],
            "v2": [("I agree with all of it", "I do not agree with any of it")[i % 2] for i in range(n)],
            "age": rng.integers(18, 90, n),
            "occupation": ["sales and marketing managers" if i % 4 else text for i, text in enumerate(own)],
        }
    )
    found = shoal.inspect(data)
    assert [one.role for one in found.columns] == [Role.IDENTIFIER, Role.OTHER, Role.QUASI, Role.QUASI]
    assert any(note.startswith("Column 'v1' holds free text") for note in found.notes)


@pytest.mark.parametrize("names", [("lat", "lon"), ("GPS_Latitude", "easting"), ("Breitengrad", "y")])
def test_degrees_without_a_pair_are_known_to_others(names: tuple[str, str]) -> None:
    rng = np.random.default_rng(4)
    data = pa.table({names[0]: rng.integers(47, 55, 90), names[1]: rng.integers(0, 5, 90), "age": range(90)})
    found = shoal.inspect(data)
    assert found.coordinates == ()
    assert found.columns[0].role is Role.QUASI


def test_a_german_file_with_coordinates_runs_as_it_is(tmp_path: Path) -> None:
    path, recipe = tmp_path / "orte.csv", tmp_path / "start.toml"
    north, east = RNG.uniform(47, 55, N), RNG.uniform(6, 15, N)
    rows = [
        f"{a:.4f};{b:.4f};{c}".replace(".", ",") for a, b, c in zip(north, east, RNG.integers(18, 90, N), strict=True)
    ]
    path.write_text("Breitengrad;Längengrad;Alter\n" + "\n".join(rows) + "\n", "utf-8")
    found = shoal.inspect(path, recipe=recipe)
    assert found.coordinates == (("Breitengrad", "Längengrad"),)
    assert 'coordinates = [["Breitengrad", "Längengrad"]]' in found.recipe
    assert "--coordinates Breitengrad,Längengrad" in shoal.inspect(path).command.replace("'", "")
    done = shoal.protect(path, shoal.Recipe.from_toml(recipe.read_text("utf-8")), output=tmp_path / "safe.csv")
    assert done.audit.holds


@pytest.mark.parametrize(
    ("names", "low", "high"), [(("x", "y"), 5.0, 60.0), (("lat", "lon"), 400.0, 900.0), (("lat", "age"), 5.0, 60.0)]
)
def test_other_numbers_are_no_coordinates(names: tuple[str, str], low: float, high: float) -> None:
    assert shoal.inspect(pa.table({name: RNG.uniform(low, high, N) for name in names})).coordinates == ()


def test_columns_that_were_not_reviewed_are_listed_with_their_unique_records(tmp_path: Path, run: Callable) -> None:
    path = tmp_path / "t.csv"
    shop, note = [0, *[1] * (N - 1)], [0, 1, 2, *[3] * (N - 3)]
    pd.DataFrame({"age": RNG.integers(18, 90, N), "shop": shop, "note": note}).to_csv(path, index=False)
    found = shoal.inspect(path)
    assert found.unchanged.alone == (("shop", 1), ("note", 3))
    assert found.to_dict()["unchanged"]["unique_alone"] == {"shop": 1, "note": 3}
    said = run("inspect", str(path)).out
    assert "Not reviewed" in said
    assert "all 2 together" in said
    assert "all 2 together" not in run("inspect", str(path), "--reviewed", "note").out


def test_special_uniques_are_counted_in_the_table_or_in_a_stated_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"age": [1, 2, 2, 3, 3, 3], "sex": [0, 0, 1, 1, 1, 0], "town": [0, 0, 0, 0, 1, 0]})
    found = shoal.inspect(table).special
    assert found is not None
    assert (found.unique, found.by_size) == (6, (2, 3))  # by age 1 or town 1, then by two; one record needs all three
    monkeypatch.setattr(uniques, "_BUDGET", 24)
    sampled = shoal.inspect(table).special
    assert sampled is not None
    assert sampled.searched == 4
    assert sampled.sentence.startswith("In a sample of 4 of 6 records, where more are unique than in the table: ")


def test_a_quasi_identifier_that_is_removed_says_so() -> None:
    found = shoal.inspect(pa.table({"plz": [f"0{1000 + i}" for i in range(60)], "age": list(range(60))}))
    (guess,) = (one for one in found.columns if one.name == "plz")
    assert (guess.role.value, guess.reason) == (
        "identifier",
        "named like a place, but all values differ: group them to release it",
    )


def test_a_household_is_pointed_out() -> None:
    found = shoal.inspect(pa.table({"household": [i // 3 for i in range(60)], "age": list(range(60))}))
    assert found.columns[0].role.value == "identifier"
    assert "let k count households, write together = 'household'" in found.notes[0]


@pytest.mark.parametrize("declared", [True, False])
def test_labelled_codes_that_are_not_declared_missing_are_named(tmp_path: Path, declared: bool) -> None:
    path = tmp_path / "survey.sav"
    pay = np.where(np.arange(N) % 8 == 0, 77777.0, RNG.integers(500, 9000, N).astype(float))
    mood = RNG.integers(0, 11, N).astype(float)  # with labels at the ends
    pyreadstat.write_sav(
        pd.DataFrame({"pay": pay, "satisfaction": mood}),
        str(path),
        column_labels={"pay": "Income", "satisfaction": "Satisfaction"},
        variable_value_labels={"pay": {77777.0: "refused"}, "satisfaction": {0.0: "not at all", 10.0: "fully"}},
        missing_ranges={"pay": [77777.0]} if declared else None,
    )
    found = shoal.inspect(path)
    named = [note for note in found.notes if "often means a missing value" in note]
    assert [note.partition(":")[0] for note in named] == ([] if declared else ["Column 'pay'"])
    assert all("30 records hold a value" in note and "declare it missing in the file" in note for note in named)


def test_polish_names_and_german_abbreviations_suggest_roles() -> None:
    names = {
        "Wiek": "quasi",
        "Płeć": "quasi",
        "Dochód": "quasi",
        "Data urodzenia": "quasi",
        "Miejscowość": "quasi",
        "Kod pocztowy": "quasi",
        "PESEL": "identifier",
        "Choroba": "confidential",
        "gebjahr": "quasi",
        "geb_dat": "quasi",
        "Land": "quasi",
    }
    found = shoal.inspect(pa.table({name: RNG.integers(1, 40, N) for name in names}))
    assert roles(found) == names


@pytest.mark.parametrize(("x", "y"), [("easting", "northing"), ("Rechtswert", "Hochwert"), ("x_koord", "y_koord")])
def test_projected_coordinates_are_known_to_others(x: str, y: str) -> None:
    found = shoal.inspect(pa.table({x: RNG.uniform(3e5, 7e5, N), y: RNG.uniform(5.2e6, 6e6, N), "shop": range(N)}))
    assert (roles(found)[x], roles(found)[y], found.coordinates) == ("quasi", "quasi", ())


@pytest.mark.parametrize("by_recipe", [True, False])
def test_codes_written_as_numbers_are_declared_nominal(
    tmp_path: Path, run: Callable, monkeypatch: pytest.MonkeyPatch, by_recipe: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = [1111, 2221, 5120]
    table = {
        "sex": RNG.integers(1, 3, N),
        "isco": RNG.choice(codes, N),
        "nationality score": RNG.integers(0, 100, N),
        "plz": 10_000 + np.arange(N) * 7,
        "alter": RNG.integers(18, 90, N),
    }
    pd.DataFrame(table).to_csv("in.csv", index=False)
    found = json.loads(run("inspect", "in.csv", "--json", *(["--recipe", "start.toml"] if by_recipe else [])).out)
    assert found["kinds"] == {"sex": "nominal", "isco": "nominal"}
    assert [one["role"] for one in found["columns"]] == ["quasi", "quasi", "quasi", "identifier", "quasi"]
    assert "Column 'plz' is removed: its numbers are likely codes, and too many differ." in found["notes"][0]
    assert "The numbers in 'sex', 'isco' are likely codes" in found["notes"][1]
    assert run(*shlex.split(found["command"])[1:]).code == 0
    released = pd.read_csv("in-protected.csv")
    assert set(released["isco"]) <= set(codes)
    assert set(released["sex"]) <= {1, 2}


def test_codes_of_a_survey_without_measures_are_declared_nominal(tmp_path: Path) -> None:
    path = tmp_path / "survey.sav"
    sex = RNG.integers(1, 3, N).astype(float)
    data = pd.DataFrame({"v1": sex, "v2": RNG.integers(18, 90, N).astype(float)})
    pyreadstat.write_sav(data, str(path), column_labels={"v1": "Sex of respondent", "v2": "Age"})
    found = shoal.inspect(path, recipe=tmp_path / "start.toml")
    assert dict(found.kinds) == {"v1": "nominal"}
    shoal.protect(path, shoal.Recipe.from_toml(found.recipe), output=tmp_path / "out.sav")
    assert set(pyreadstat.read_sav(tmp_path / "out.sav")[0]["v1"]) <= {1.0, 2.0}


@pytest.mark.parametrize("names", [("x", "y"), ("home_x", "home_y"), ("wgs84_e", "wgs84_n")])
def test_axes_that_may_be_those_of_a_map_are_named(names: tuple[str, str]) -> None:
    table = pa.table({name: RNG.uniform(5, 60, N) for name in names} | {"age": RNG.integers(18, 90, N)})
    (note,) = shoal.inspect(table).notes
    assert note.startswith(f"Columns {names[0]!r} and {names[1]!r} may be coordinates of a place")
    assert not shoal.inspect(pa.table({name: RNG.integers(0, 9, N) for name in names})).notes


def test_ages_with_leading_zeros_are_named_with_the_option(tmp_path: Path, run: Callable) -> None:
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    ages = RNG.integers(5, 90, N)
    path.write_text("Alter;nr\n" + "".join(f"{age:02d};{age:03d}\n" for age in ages))
    found = shoal.inspect(path)
    assert [note for note in found.notes if "leading zeros" in note] == [
        "Column 'Alter': its numbers have leading zeros, and are read as codes. To average them, name it in quasi, and "
        "give --kind Alter=integer."
    ]
    options = ["--quasi", "Alter", "--identifier", "nr", "--kind", "Alter=integer"]
    assert run("protect", path, "-o", out, *options).code == 0
    assert np.mean([int(line) for line in out.read_text().splitlines()[1:]]) == pytest.approx(ages.mean(), abs=1)
