"""A dry run prints the plan, every refusal and an estimate, and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal

N = 50
RNG = np.random.default_rng(4)
PEOPLE = pa.table(
    {
        "id": [f"p{row}" for row in range(N)],
        "age": RNG.integers(18, 90, N),
        "job": RNG.choice(["nurse", "clerk"], N),
        "pay": np.round(RNG.lognormal(9, 1, N), 2),
        "ill": RNG.choice(list("abc"), N),
    }
)
RECIPE = {"quasi": ["age", "pay", "job"], "identifier": ["id"], "confidential": ["ill"], "k": 5, "t": 0.3}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    shoal.write_table(PEOPLE, tmp_path / "people.csv")
    return tmp_path / "people.csv"


def test_the_plan_is_printed_and_nothing_is_written(people: Path, run) -> None:
    options = ["--quasi", "age,pay,job", "--identifier", "id", "--confidential", "ill", "--k", "5", "--t", "0.3"]
    output = people.with_name("safe.csv")
    ran = run("protect", people, "-o", output, *options, "--dry-run", "--report", people.with_name("r.html"))
    assert ran.code == 0, ran.err
    assert "auto with k = 5: at most 10 classes" in ran.out
    assert "t_closeness with t = 0.3 of ill" in ran.out
    assert "2 categories" in ran.out
    assert "up to 2 decimals" in ran.out
    assert "This takes " in ran.out
    assert ran.out.rstrip().endswith("Nothing was written.")
    assert [path.name for path in people.parent.iterdir()] == ["people.csv"]


def test_every_refusal_is_printed_with_the_exit_code_of_the_run(people: Path, run) -> None:
    arguments = ["protect", people, "-o", people.with_name("no") / "safe.csv", "--quasi", "age", "--k", "99"]
    ran = run(*arguments, "--confidential", "ill", "--require", "p=4", "--dry-run")
    assert ran.code == 3
    assert "The run would be refused for 2 reasons:" in ran.out
    assert "k must be at most the number of records, got k = 99 and 50" in ran.out
    assert "there is no folder" in ran.out
    assert run(*arguments).code != 0


def test_an_output_that_exists_is_refused_unless_forced(people: Path, run) -> None:
    arguments = ["protect", people, "-o", people.with_name("safe.csv"), "--quasi", "age", "--dry-run", "--json"]
    people.with_name("safe.csv").write_text("mine")
    assert run(*arguments).code == 2
    ran = run(*arguments, "--force")
    assert ran.code == 0
    assert json.loads(ran.out)["refusals"] == []
    assert people.with_name("safe.csv").read_text() == "mine"


def test_the_same_from_python(people: Path) -> None:
    for data in (PEOPLE, people):
        found = shoal.plan(data, RECIPE)
        assert found.records == N
        assert found.refusals == ()
        assert found.seconds is not None
        assert dict(found.decisions)["Release"] == "centroid"
        assert found.to_dict()["columns"]["job"]["found"] == "2 categories"
    assert shoal.plan(PEOPLE, {**RECIPE, "require": {"p": 4}}).refusals[0].startswith("p_sensitivity of column 'ill'")


def test_no_value_of_the_table_is_shown(people: Path, run) -> None:
    ran = run("protect", people, "-o", people.with_name("o.csv"), "--quasi", "age,pay,job", "--dry-run")
    for value in ("nurse", "clerk", str(PEOPLE["pay"][0].as_py())):
        assert value not in ran.out
