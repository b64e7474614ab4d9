"""An inspection guesses by names and counts, counts unique records, shows no value, and its recipe runs."""

from __future__ import annotations

import itertools
import json
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Role

standing_alone = runpy.run_path(str(Path(__file__).parents[1] / "oracles" / "uniqueness.py"))["standing_alone"]
SECRET = "zzsecretzz"
N = 200
RNG = np.random.default_rng(3)


def guessed(**columns: object) -> dict[str, str]:
    return {guess.name: guess.role.value for guess in shoal.inspect(pa.table(columns)).columns}


def texts(kinds: int, n: int = N) -> list[str]:
    return [f"{SECRET}{v}" for v in RNG.permutation(np.arange(n) % kinds)]


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("patient_id", [f"a{i}" for i in range(N)], "identifier"),
        ("patient_id", [f"a{i // 2}" for i in range(N)], "subject"),
        ("Nachname", texts(150), "identifier"),
        ("e-mail", texts(190), "identifier"),
        ("hhid", [f"h{i // 3}" for i in range(N)], "identifier"),
        ("comment", texts(N), "identifier"),
        ("serial", list(range(N)), "identifier"),
        ("serial", (10**7 + 31 * RNG.permutation(N)).tolist(), "identifier"),
        ("turnover", (31 * RNG.permutation(N)).tolist(), "quasi"),
        ("UTILITYID", texts(40), "identifier"),
        ("amount_paid", texts(40), "other"),
        ("fnlwgt", RNG.integers(1000, 9000, N), "weight"),
        ("Geburtsdatum", pa.array(np.arange(N).astype("datetime64[D]")), "quasi"),
        ("dateOfBirth", list(range(N)), "quasi"),
        ("âge", RNG.integers(0, 90, N), "quasi"),
        ("code_postal", texts(40), "quasi"),
        ("personal_income", RNG.integers(0, 10**6, N), "quasi"),
        ("visit", pa.array(np.arange(N).astype("datetime64[D]")), "quasi"),
        ("weight", RNG.uniform(1, 9, N), "weight"),
        ("weight", RNG.uniform(-1, 9, N), "quasi"),
        ("birth_weight", RNG.uniform(1, 9, N), "quasi"),
        ("diagnóstico", texts(9), "confidential"),
        ("schulden", RNG.uniform(0, 9, N), "confidential"),
        ("region", texts(4), "strata"),
        ("region", texts(60), "quasi"),
        ("storage", texts(4), "other"),
        ("language_of_thing", texts(4), "quasi"),
        ("age", pa.nulls(N, pa.float64()), "other"),
        ("age", pa.nulls(N), "other"),
        ("tags", pa.array([[1, 2]] * N), "identifier"),
    ],
)
def test_roles_are_guessed_from_names_and_counts(name: str, values: object, role: str) -> None:
    found = guessed(**{name: values, "sex": texts(2)})
    assert found[name] == role


def test_roles_that_one_column_can_have_go_to_the_first() -> None:
    found = guessed(age=RNG.integers(0, 9, N), weight=[1.0] * N, wgt=[2.0] * N, region=texts(2), stratum=texts(3))
    assert found == {"age": "quasi", "weight": "weight", "wgt": "other", "region": "strata", "stratum": "quasi"}


def test_amounts_do_not_make_up_for_what_is_known() -> None:
    assert guessed(a=(31 * RNG.permutation(N)).tolist(), b=texts(3)) == {"a": "quasi", "b": "quasi"}


def test_where_nothing_seems_to_be_known_everything_is() -> None:
    assert guessed(a=texts(3), b=RNG.normal(size=N), health=texts(2)) == {
        "a": "quasi",
        "b": "quasi",
        "health": "confidential",
    }


@given(
    rows=st.lists(
        st.tuples(*[st.sampled_from([1.0, 2.0, 3.0, None])] * 2, *[st.sampled_from(["a", "b", None])] * 2),
        min_size=1,
        max_size=30,
    )
)
@settings(max_examples=60, deadline=None)
def test_counts_equal_the_oracle(rows: list[tuple]) -> None:
    names = ("age", "income", "sex", "city")
    frame = pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    found = shoal.inspect(frame)
    quasi = found.together.attributes
    for one in (found.together, *found.combinations):
        if one.attributes:
            picked = [tuple(row[names.index(name)] for name in one.attributes) for row in rows]
            assert (one.unique, one.k, one.classes) == standing_alone(picked)
    groups = {c for size in (1, 2, 3) for c in itertools.combinations(quasi, size)}
    assert {one.attributes for one in found.combinations} == groups
    if quasi:
        assert shoal.audit(frame, quasi=quasi).overall.achieved == found.together.k


def mixed(n: int = N) -> pa.Table:
    return pa.table(
        {
            "person": [f"{SECRET}{i}" for i in range(n)],
            "birth": pa.array(RNG.integers(0, 9000, n).astype("datetime64[D]")),
            "income": pa.array([None if i % 9 == 0 else float(v) for i, v in enumerate(RNG.lognormal(9, 1, n))]),
            'job, "quoted"\n\t#': texts(7, n),
            "region": texts(3, n),
            "weight": RNG.uniform(1, 9, n),
            "illness": texts(4, n),
            "free": texts(5, n),
        }
    )


@pytest.mark.parametrize("n", [2, 3, 5, 40, 200])
@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_the_recipe_runs_as_it_is_and_nothing_shows_a_value(tmp_path: Path, n: int, end: str) -> None:
    names = {} if end == "parquet" else {'job, "quoted"\n\t#': "job"}
    table = mixed(n).rename_columns([names.get(c, c) for c in mixed(n).column_names])
    source, recipe = tmp_path / f"in.{end}", tmp_path / "r.toml"
    shoal.write_table(table, source)
    found = shoal.inspect_file(source, recipe=recipe)
    assert recipe.read_text(encoding="utf-8") == found.recipe
    done = shoal.protect_file(source, tmp_path / f"out.{end}", recipe)
    assert done.audit.holds
    assert done.recipe.quasi == found.named(Role.QUASI)
    for shown in (json.dumps(found.to_dict()), repr(found), found.recipe):
        assert SECRET not in shown


def test_subjects_in_the_recipe_run_too() -> None:
    frame = pa.table(
        {"pid": [i // 3 for i in range(N)], "age": RNG.integers(0, 90, N), "region": texts(2), "sex": texts(2)}
    )
    found = shoal.inspect(frame)
    recipe = shoal.Recipe.from_toml(found.recipe)
    assert (recipe.subject, recipe.strata) == ("pid", ())
    assert shoal.protect(frame, recipe).audit.overall.note == "counted in subjects"


def test_columns_that_arrow_cannot_hold_do_not_leave() -> None:
    found = shoal.inspect(pd.DataFrame({"age": [1, 2, 3], "thing": [1, "a", object()]}))
    assert [guess.role.value for guess in found.columns] == ["quasi", "identifier"]
    shoal.Recipe.from_toml(found.recipe)


def test_many_columns_are_not_all_combined() -> None:
    frame = pa.table({f"age_{'abcdefghijklmno'[i]}": RNG.integers(0, i + 2, N) for i in range(15)})
    found = shoal.inspect(frame)
    assert (found.left_out, len(found.combinations), len(found.together.attributes)) == (3, 12 + 66 + 220, 15)


def test_the_command_prints_tables_or_json_and_replaces_no_recipe(
    tmp_path: Path, run: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shoal.write_table(shoal.survey(records=300), "survey.csv")
    ran = run("inspect", "survey.csv", "--recipe", "r.toml")
    assert (ran.code, ran.err) == (0, "")
    for words in ("birth", "datetime", "quasi", "named like", "Unique records", "together", "r.toml"):
        assert words in ran.out
    found = json.loads(run("inspect", "survey.csv", "--json").out)
    assert found["records"] == 300
    assert found["recipe"] == Path("r.toml").read_text(encoding="utf-8")
    assert run("inspect", "survey.csv", "--recipe", "r.toml").code == 2
    assert run("inspect", "survey.csv", "--recipe", "survey.csv", "--force").code == 2
    assert run("inspect", "survey.csv", "--recipe", "r.toml", "--force").code == 0
    assert run("protect", "survey.csv", "-o", "out.csv", "--recipe", "r.toml").code == 0
    assert run("inspect", "none.csv", "--recipe", "n.toml").code == 3
    assert not Path("n.toml").exists()


def test_what_was_said_of_text_is_in_the_recipe(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("age;income\n" + "".join(f"{i % 7};{i},5\n" for i in range(30)) + "NA;1,0\n")
    found = shoal.inspect_file(tmp_path / "in.csv", {"decimal": ",", "missing": ["NA"]}, recipe=tmp_path / "r.toml")
    assert [(guess.kind.value, guess.missing) for guess in found.columns] == [("integer", 1), ("continuous", 0)]
    assert shoal.protect_file(tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "r.toml").audit.holds


def test_what_is_of_the_household_is_found_and_its_recipe_runs() -> None:
    house = np.arange(N) // 3
    frame = pa.table({"hhid": [f"h{h}" for h in house], "age": RNG.integers(0, 90, N), "rooms": house % 4})
    recipe = shoal.inspect(frame).recipe
    assert '# household_level = ["rooms"]' in recipe
    lines = [
        line.removeprefix("# ") if line.startswith(("# together", "# household_level")) else line
        for line in recipe.splitlines()
        if "hhid" not in line or "together" in line
    ]
    done = shoal.protect(frame, shoal.Recipe.from_toml("\n".join(lines)))
    assert [set(f.attributes) for f in done.audit.findings[:2]] == [{"rooms"}, {"age"}]
    assert "household_level" not in shoal.inspect(frame.set_column(2, "rooms", pa.array(np.arange(N)))).recipe


def test_a_recipe_without_quasi_identifiers_says_so() -> None:
    recipe = shoal.inspect(pa.table({"name": texts(N), "health": texts(4)})).recipe
    assert "name at least one, because a recipe needs one" in recipe
