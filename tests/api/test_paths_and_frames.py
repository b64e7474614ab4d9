"""One function for paths and frames: the same result as the older names, and sentences for wrong combinations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal

COLUMNS = {"age": [31, 33, 62, 60, 35, 61], "pay": [20, 22, 9, 8, 21, 10]}
PEOPLE = pa.table(COLUMNS)
FRAMES = [PEOPLE, pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)]
RECIPE = {"quasi": ["age"], "k": 3, "row_order": "keep"}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    shoal.write_table(PEOPLE, tmp_path / "people.csv")
    return tmp_path / "people.csv"


@pytest.mark.parametrize("kind", [str, Path])
def test_protect_a_path(people: Path, kind: Any) -> None:
    old, new = people.with_name("old.csv"), people.with_name("new.csv")
    done = shoal.protect(kind(people), RECIPE, output=kind(new), report=people.with_name("report.html"))
    shoal.protect_file(people, old, RECIPE)
    assert new.read_bytes() == old.read_bytes()
    assert done.data["age"].to_pylist() == shoal.protect(PEOPLE, RECIPE).data["age"].to_pylist()
    assert people.with_name("report.html").exists()


def test_protect_a_path_by_fields(people: Path) -> None:
    shoal.protect(str(people), quasi=["age"], k=3, output=people.with_name("out.csv"))
    assert shoal.audit(people.with_name("out.csv"), ["age"]).to_dict()["k"] == 3


def test_audit_inspect_compare_and_explore_take_both(people: Path) -> None:
    masked = people.with_name("masked.csv")
    shoal.protect(people, RECIPE, output=masked)
    for frame in FRAMES:
        assert shoal.audit(frame, ["age"]).to_dict() == shoal.audit(str(people), ["age"]).to_dict()
        guesses = [shoal.inspect(one).columns for one in (frame, people)]
        assert [guess.role for guess in guesses[0]] == [guess.role for guess in guesses[1]]
    read = pd.read_csv(masked)
    by_frame, by_path = shoal.compare(FRAMES[1], read, ["age"]), shoal.compare(people, str(masked), ["age"])
    assert by_frame.to_dict() == by_path.to_dict() == shoal.compare_files(people, masked, ["age"]).to_dict()
    settings: dict[str, Any] = {"quasi": ["age", "pay"], "k": [2, 3], "methods": ["mdav"], "refine": ["none"]}
    page = people.with_name("frontier.html")
    found = shoal.explore(people, **settings, output=page)
    assert found.to_dict()["settings"] == shoal.explore(PEOPLE, **settings).to_dict()["settings"]
    assert page.exists()


def test_older_names_pass_everything_on(people: Path) -> None:
    text, starter = {"delimiter": ","}, people.with_name("starter.toml")
    assert shoal.audit_file(people, ["age"], text=text).to_dict() == shoal.audit(people, ["age"], text=text).to_dict()
    by_path = shoal.inspect(people, text=text)
    older = shoal.inspect_file(people, text, recipe=starter).to_dict()
    assert older.pop("command").endswith("starter.toml")
    assert older == {name: value for name, value in by_path.to_dict().items() if name != "command"}
    with pytest.raises(shoal.ParameterError, match="Inspect: reviewed must hold columns"):
        shoal.inspect_file(people, reviewed=["pay"])
    assert starter.exists()
    recipe = {"quasi": ["age", "pay"]}
    found = shoal.explore_file(people, recipe, people.with_name("f.html"), k=[2], methods=["mdav"], refine=["none"])
    assert found.to_dict() == shoal.explore(people, recipe, k=[2], methods=["mdav"], refine=["none"]).to_dict()
    assert people.with_name("f.html").exists()


def test_a_path_needs_an_output(people: Path) -> None:
    with pytest.raises(shoal.ParameterError, match=r"^protect: output must be given for a file, got nothing. Name the"):
        shoal.protect(people, RECIPE)


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("protect", {"output": "out.csv"}),
        ("protect", {"report": "r.html"}),
        ("protect", {"evidence": "e.json"}),
        ("protect", {"receipt": "r.json"}),
        ("protect", {"save_recipe": "r.toml"}),
        ("protect", {"edition": "external"}),
        ("protect", {"force": True}),
        ("explore", {"output": "f.html"}),
        ("explore", {"save_recipe": "r.toml"}),
        ("explore", {"force": True}),
    ],
)
def test_a_frame_has_no_files(
    verb: str, given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sentence = f"^{verb}: {next(iter(given))} cannot be given with a frame. The result "
    with pytest.raises(shoal.ParameterError, match=sentence):
        getattr(shoal, verb)(PEOPLE, RECIPE, **given)
    assert not list(tmp_path.iterdir())


def test_a_frame_has_no_text_format() -> None:
    text = {"delimiter": ";"}
    with pytest.raises(shoal.ParameterError, match=r"^audit: text cannot be given with a frame. Only "):
        shoal.audit(PEOPLE, ["age"], text=text)
    with pytest.raises(shoal.ParameterError, match=r"^inspect: text, recipe cannot be given with a frame."):
        shoal.inspect(PEOPLE, text=text, recipe="r.toml")
    with pytest.raises(shoal.ParameterError, match=r"^compare: text cannot be given with a frame. Only "):
        shoal.compare(PEOPLE, PEOPLE, ["age"], text=text)


def test_compare_needs_two_of_a_kind(people: Path) -> None:
    sentence = "^compare: original and masked must be two frames or two paths, got a path and a Table. Read the file"
    with pytest.raises(shoal.ParameterError, match=sentence):
        shoal.compare(people, PEOPLE, ["age"])
    with pytest.raises(shoal.ParameterError, match="got a Table and a path"):
        shoal.compare(PEOPLE, people, ["age"])


def test_what_is_neither_is_no_frame() -> None:
    with pytest.raises(shoal.ParameterError, match=r"^Frame: must be a pandas.DataFrame, "):
        shoal.protect(7, RECIPE)
    with pytest.raises(shoal.ParameterError, match=r"^A place must be a path or a URL, got a Table."):
        shoal.protect_file(PEOPLE, "out.csv", RECIPE)  # type: ignore[arg-type]
