"""A recipe file and options: options win, what conflicts is refused, and defaults are resolved last."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import shoal

PLAIN = 'version = 1\nquasi = ["birth", "income"]\nconfidential = ["health"]\n'


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shoal.write_table(shoal.survey(records=40), tmp_path / "survey.csv")
    return tmp_path / "survey.csv"


@pytest.fixture
def protected(survey: Path, run: Callable) -> Callable[..., dict]:
    """Protect the survey with a recipe file and options; return the JSON."""

    def protected(text: str, *options: object) -> dict:
        Path("r.toml").write_text(text)
        ran = run("protect", survey, "-o", "out.csv", "--force", "--recipe", "r.toml", "--json", *options)
        assert (ran.code, ran.err) == (0, "")
        return json.loads(ran.out)

    return protected


@pytest.mark.parametrize(
    ("inside", "options"),
    [
        ("t = 0.3", ("--t", 0.3)),
        ("require = {p = 2}", ("--require", "p=2")),
        ("require = {k = 4}", ("--require", "k=4")),
        ("k = 4", ("--k", 4)),
    ],
)
def test_an_option_is_as_good_as_a_line_in_the_file(
    protected: Callable[..., dict], inside: str, options: tuple[object, ...]
) -> None:
    written, typed = protected(PLAIN + inside), protected(PLAIN, *options)
    assert typed["recipe"] == written["recipe"]
    assert typed["fingerprint"] == written["fingerprint"]
    assert typed["readings"] == written["readings"]


def test_a_closeness_by_option_selects_auto_unless_the_file_names_a_method(protected: Callable[..., dict]) -> None:
    assert protected(PLAIN, "--t", 0.3)["recipe"]["method"] == "auto"
    assert protected(PLAIN + 'method = "mdav"', "--t", 0.3)["recipe"]["method"] == "mdav"


def test_a_saved_recipe_takes_options_like_the_options_it_came_from(protected: Callable[..., dict]) -> None:
    protected(PLAIN + "k = 4", "--save-recipe", "saved.toml")
    saved = Path("saved.toml").read_text()
    assert "k = 4" in saved
    assert protected(saved, "--t", 0.3)["recipe"] == protected(PLAIN + "k = 4", "--t", 0.3)["recipe"]


def test_options_win_over_the_same_setting_in_the_file(protected: Callable[..., dict]) -> None:
    assert protected(PLAIN + "k = 5", "--k", 3)["recipe"]["k"] == 3
    assert protected(PLAIN + "require = {p = 3}", "--require", "p_sensitivity=2")["recipe"]["require"] == {
        "p_sensitivity": 2
    }


def test_requirements_of_other_columns_stay(protected: Callable[..., dict]) -> None:
    text = PLAIN.replace('"health"', '"health", "education"') + "[require.p]\nhealth = 2"
    assert protected(text, "--require", "p:education=2")["recipe"]["require"] == {"p": {"health": 2, "education": 2}}


@pytest.mark.parametrize(
    ("inside", "options", "sentence"),
    [
        ("", ("--k", "5", "--require", "k=3"), "k is set to 5 and required at 3"),
        ("k = 5", ("--require", "k=3"), "k is set to 5 and required at 3"),
        ("require = {k = 5}", ("--k", "3"), "k is set to 3 and required at 5"),
        ("t = 0.1", ("--require", "t=0.3"), "t is set to 0.1 and required at 0.3"),
        ("require = {p = 2}", ("--require", "p:health=2"), "--require: p is given for all columns in one place"),
        ("[require.p]\nhealth = 2", ("--require", "p=2"), "--require: p is given for all columns in one place"),
        ("require = 3", ("--require", "k=3"), "require must be a table of names and values"),
    ],
)
def test_what_conflicts_is_refused(
    survey: Path, run: Callable, inside: str, options: tuple[str, ...], sentence: str
) -> None:
    Path("r.toml").write_text(PLAIN + inside)
    ran = run("protect", survey, "-o", "out.csv", "--recipe", "r.toml", *options)
    assert ran.code == 2
    assert sentence in ran.err
    assert not Path("out.csv").exists()


def test_explore_refuses_what_conflicts(survey: Path, run: Callable) -> None:
    Path("r.toml").write_text(PLAIN + "k = 5")
    ran = run("explore", survey, "--recipe", "r.toml", "--require", "k=3")
    assert ran.code == 2
    assert "k is set to 5 and required at 3" in ran.err


STREAM = 'quasi = ["age"]\nbounds = {age = [0, 99]}\nk = 3\ndelay = 9\nconfidential = ["ill", "job"]\n'
AGES = "".join(json.dumps({"age": i, "ill": "ab"[i % 2], "job": "xy"[i // 2 % 2]}) + "\n" for i in range(40))


@pytest.mark.parametrize(
    ("inside", "options", "sentence"),
    [
        ("t = 0.5", ("--require", "t=0.9"), "t is set and also required"),
        ("require = {p = 2}", ("--require", "p:ill=2"), "--require: p is given for all columns in one place"),
        ("", ("--require", "k=2"), "got k_anonymity"),
    ],
)
def test_what_conflicts_is_refused_for_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable, inside: str, options: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text(STREAM + inside)
    Path("in.jsonl").write_text(AGES)
    ran = run("stream", "in.jsonl", "-o", "out.jsonl", "--recipe", "r.toml", *options)
    assert ran.code == 2
    assert sentence in ran.err


def test_stream_requirements_of_other_fields_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text(STREAM + "[require.p]\nill = 2")
    Path("in.jsonl").write_text(AGES)
    ran = run("stream", "in.jsonl", "-o", "out.jsonl", "--recipe", "r.toml", "--require", "p:job=2")
    assert ran.code == 0
    released = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    for number in {one["class"] for one in released}:
        members = [one for one in released if one["class"] == number]
        assert len({one["ill"] for one in members}) == len({one["job"] for one in members}) == 2
