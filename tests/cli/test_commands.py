"""The commands as people type them: what they print, where, and what a terminal shows beside."""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import shoal

QUASI = "birth,income,commute_minutes"


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shoal.write_table(shoal.survey(records=300), tmp_path / "survey.csv")
    return tmp_path / "survey.csv"


def test_protect_prints_columns_audit_loss_and_where(survey: Path, run: Callable) -> None:
    roles = ("--quasi", QUASI, "--identifier", "person,household")
    ran = run("protect", survey, "-o", "out.csv", *roles, "--k", 4, "--row-order", "keep")
    assert (ran.code, ran.err) == (0, "")
    for words in ("commute_minutes", "integer", "not at all", "k_anonymity", "holds", "il_sse", "out.csv"):
        assert words in ran.out
    rows = list(csv.DictReader(Path("out.csv").read_text(encoding="utf-8").splitlines()))
    before = list(csv.DictReader(survey.read_text(encoding="utf-8").splitlines()))
    assert list(rows[0]) == [name for name in before[0] if name not in ("person", "household")]
    counted = Counter((row["birth"], row["income"], row["commute_minutes"]) for row in rows)
    assert min(counted.values()) >= 4
    for name in ("region", "education", "work", "health", "weight"):
        assert [row[name] for row in rows] == [row[name] for row in before]


def test_a_certificate_is_printed_when_asked_for(survey: Path, run: Callable) -> None:
    command = ("protect", survey, "--quasi", QUASI, "--identifier", "person,household", "--k", 3)
    ran = run(*command, "-o", "out.csv", "--certify")
    found = json.loads(run(*command, "-o", "again.csv", "--certify", "--json").out)["certificate"]
    assert (ran.code, ran.err) == (0, "")
    assert found["sse_bound"] < found["sse"]
    assert found["how"] == ["column generation"]
    for words in (f"{found['il']:g} %", f"{found['il_bound']:g} %", f"at most {found['gap']:g} %"):
        assert words in ran.out
    assert "certificate" not in json.loads(run(*command, "-o", "plain.csv", "--json").out)


def test_protect_json_is_one_object_and_nothing_else(survey: Path, run: Callable) -> None:
    ran = run("protect", survey, "-o", "out.csv", "--quasi", QUASI, "--json")
    found = json.loads(ran.out)
    assert ran.out.count("\n") == 1
    assert found["audit"]["k"] >= 5
    assert found["audit"]["requirements"][0]["holds"] is True
    assert set(found["readings"]) >= {"sse", "il_sse", "mse", "mae"}
    assert found["columns"]["birth"] == {"role": "quasi", "kind": "datetime"}
    assert found["fingerprint"] == shoal.Recipe.from_dict(found["recipe"]).fingerprint


def test_the_same_from_a_saved_recipe(survey: Path, run: Callable) -> None:
    options = ["--quasi", QUASI, "--identifier", "person", "--weight", "weight", "--strata", "region", "--k", 3]
    options += ["--row-order", "keep"]
    more = ["--set", "round_integers=true", "--set", "scale=range", "--kind", "commute_minutes=integer", "--seed", 4]
    assert run("protect", survey, "-o", "a.csv", *options, *more, "--save-recipe", "r.toml").code == 0
    assert run("protect", survey, "-o", "b.csv", "--recipe", "r.toml").code == 0
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    assert run("protect", survey, "-o", "c.csv", "--recipe", "r.toml", "--k", 6, "--json").code == 0
    saved = shoal.Recipe.load("r.toml")
    assert (saved.k, saved.seed, saved.set) == (3, 4, {"round_integers": True, "scale": "range"})


def test_a_saved_recipe_finds_its_taxonomy_from_where_it_lies(survey: Path, run: Callable) -> None:
    for name in ("trees", "recipes"):
        Path(name).mkdir()
    Path("trees/work.csv").write_text(
        "employed;works;*\nself-employed;works;*\nunemployed;not;*\nstudent;not;*\nretired;not;*\n", encoding="utf-8"
    )
    options = ["--quasi", "work,birth", "--taxonomy", "work=trees/work.csv", "--save-recipe"]
    assert run("protect", survey, "-o", "a.csv", *options, "recipes/r.toml").code == 0
    assert run("protect", survey, "-o", "b.csv", "--recipe", "recipes/r.toml", "--save-recipe", "r.toml").code == 0
    assert run("protect", survey, "-o", "c.csv", "--recipe", "r.toml").code == 0
    shoal.save_recipe(shoal.Recipe.load("r.toml"), "recipes/again.toml")
    saved = [shoal.Recipe.load(path).taxonomies for path in ("r.toml", "recipes/r.toml", "recipes/again.toml")]
    assert {Path(given["work"]).resolve() for given in saved} == {Path("trees/work.csv").resolve()}
    assert Path("a.csv").read_bytes() == Path("c.csv").read_bytes()


def test_blocks_on_the_command_line(survey: Path, run: Callable) -> None:
    blocks = ["--block", "birth,income", "--block", "commute_minutes"]
    ran = run("protect", survey, "-o", "out.csv", "--quasi", QUASI, *blocks, "--json")
    requirements = json.loads(ran.out)["audit"]["requirements"]
    assert [r["attributes"] for r in requirements] == [["birth", "income"], ["commute_minutes"]]
    assert all(r["achieved"] >= 5 for r in requirements)
    shown = run("protect", survey, "-o", "out.csv", "--quasi", QUASI, *blocks, "--force")
    assert "not promised" in shown.out


def test_protect_counts_records_that_unchanged_columns_make_unique(survey: Path, run: Callable) -> None:
    command = ("protect", survey, "-o", "out.csv", "--force", "--quasi", QUASI)
    found = json.loads(run(*command, "--json").out)
    assert {"columns", "unique_records"} <= set(found["unchanged"])
    assert set(found["unchanged"]["unique_in_class"]) == set(found["unchanged"]["columns"])
    assert found["warnings"][0].startswith(f"{found['unchanged']['unique_records']:,} of ")
    names = ",".join(found["unchanged"]["columns"])
    reviewed = json.loads(run(*command, "--reviewed", names, "--json").out)
    assert reviewed["unchanged"]["unreviewed_unique_records"] == 0
    assert reviewed["unchanged"]["unique_records"] == found["unchanged"]["unique_records"]
    assert not any("not reviewed" in warning for warning in reviewed.get("warnings", ()))
    shown = run(*command).out
    assert "Columns released unchanged" in shown
    assert f"Warning: {found['warnings'][0]}" in shown


def test_inspect_counts_records_that_unchanged_columns_make_unique(survey: Path, run: Callable) -> None:
    found = json.loads(run("inspect", survey, "--json").out)["unchanged"]
    assert found["unique_in_class"] is None
    assert f"unique on the {len(found['columns'])} columns" in run("inspect", survey).out


def test_audit_json_is_the_contract(survey: Path, run: Callable) -> None:
    run("protect", survey, "-o", "out.csv", "--quasi", QUASI)
    ran = run("audit", "out.csv", "--quasi", QUASI, "--confidential", "health", "--require", "k=5", "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["records"], found["k"], found["quasi"]) == (0, 300, 5, QUASI.split(","))
    assert found["requirements"] == [
        {
            "model": "k_anonymity",
            "attributes": QUASI.split(","),
            "level": "k",
            "required": 5,
            "achieved": 5,
            "holds": True,
            "note": "",
        }
    ]
    failed = run("audit", "out.csv", "--quasi", QUASI, "--require", "k_anonymity=6", "--json")
    assert failed.code == 4
    assert json.loads(failed.out)["requirements"][0]["holds"] is False
    assert run("audit", survey, "--quasi", "region", "--subject", "person").code == 0


def test_compare_json_and_table_agree(survey: Path, run: Callable) -> None:
    run("protect", survey, "-o", "out.csv", "--quasi", QUASI)
    found = json.loads(run("compare", survey, "out.csv", "--columns", QUASI, "--json").out)
    n, d = 300, 3
    assert found["mse"] == pytest.approx(found["sse"] / (n * d))
    assert found["il_sse"] == pytest.approx(100 * found["sse"] / (n * d))  # standardised: SST = n·d
    assert f"{found['il_sse']:.3f} %" in run("compare", survey, "out.csv", "--columns", QUASI).out


def test_compare_takes_meanings_and_columns_from_a_recipe(survey: Path, run: Callable) -> None:
    Path("r.toml").write_text(
        'quasi = ["education", "occupation", "birth"]\n[orders]\n'
        'education = ["primary", "secondary", "bachelor", "master"]\n',
        encoding="utf-8",
    )
    done = json.loads(run("protect", survey, "-o", "out.csv", "--recipe", "r.toml", "--json").out)
    read = {name: value for name, value in done["readings"].items() if not name.endswith("_partition")}
    ran = run("compare", survey, "out.csv", "--recipe", "r.toml", "--json", "--measures", ",".join(read))
    compared = {name: value for name, value in json.loads(ran.out).items() if name != "parts"}
    assert compared == pytest.approx(read, rel=0.006)  # which are published with 3 digits
    one = run("compare", survey, "out.csv", "--recipe", "r.toml", "--columns", "education", "--json")
    assert json.loads(one.out)["il_sse"] != pytest.approx(done["readings"]["il_sse"])


def test_list_names_every_key(run: Callable) -> None:
    everything = run("list").out
    for room in ("partition", "privacy", "utility", "risk", "release"):
        for key in shoal_keys(room):
            assert key in everything
    assert "mdav" in run("list", "methods").out
    assert "mdav" not in run("list", "models").out


def shoal_keys(room: str) -> tuple[str, ...]:
    from shoal import registry

    return registry.keys(room)


def test_demo_is_deterministic_and_can_be_repeated(tmp_path: Path, run: Callable) -> None:
    for folder in ("one", "two", "two"):
        ran = run("demo", tmp_path / folder, *(["--force"] if (tmp_path / folder).exists() else []))
        assert (ran.code, ran.err) == (0, "")
        assert "protected.csv" in ran.out
    for name in ("survey.csv", "protected.csv", "recipe.toml", "occupations.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert len((tmp_path / "one" / "survey.csv").read_text().splitlines()) == 5001
    (tmp_path / "file").write_text("")
    assert run("demo", tmp_path / "file").code == 5
    assert run("demo", tmp_path / "one").code == 2


def test_demo_shows_households_strata_and_weights(tmp_path: Path, run: Callable) -> None:
    ran = run("demo", tmp_path)
    for words in ("holds", "Region by region", "weighted k", "One household", "household_level", "il_sse", "Removed"):
        assert words in ran.out
    assert len(ran.out.splitlines()) <= 50
    assert float(re.search(r"Loss: ([\d.]+) %", ran.out)[1]) < 15
    again = run("protect", tmp_path / "survey.csv", "-o", tmp_path / "a.csv", "--recipe", tmp_path / "recipe.toml")
    assert again.code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "protected.csv").read_bytes()
    people, left = (
        list(csv.DictReader((tmp_path / name).read_text(encoding="utf-8").splitlines()))
        for name in ("survey.csv", "protected.csv")
    )
    assert not {"person", "household"} & set(left[0])
    recipe = shoal.Recipe.load(tmp_path / "recipe.toml")
    values, households = {}, {}
    for before, after in zip(people, left, strict=True):
        combination = (after["region"], *(after[name] for name in recipe.quasi))
        shared = tuple(after[name] for name in recipe.household_level)
        assert values.setdefault(before["household"], shared) == shared
        households.setdefault(combination, set()).add(before["household"])
    assert min(map(len, households.values())) >= 5


SLOWLY = """
import time
from shoal.partition.mdav import Mdav
from shoal.progress import report
honest = Mdav.partition
def slow(*given):
    for done in range(0, 100, 20):
        report(done, 100)
        time.sleep(0.2)
    return honest(*given)
Mdav.partition = slow
"""


def in_terminal(arguments: list[str], folder: Path, first: str = "", until: str = "", **variables: str) -> str:
    """Run a command whose standard error is a terminal, to its end or until the terminal shows some words."""
    ours, theirs = pty.openpty()
    code = f"{first}\nimport sys; from shoal.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", **variables},
    )
    os.close(theirs)
    seen = b""
    while not until or until.encode() not in seen:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    if until:
        process.kill()
    process.communicate()
    os.close(ours)
    assert until or process.returncode == 0
    return seen.decode()


def test_a_bar_on_a_terminal_and_none_in_a_pipe(survey: Path) -> None:
    command = ["protect", "survey.csv", "-o", "out.csv", "--quasi", QUASI, "--method", "mdav"]
    seen = in_terminal(command, survey.parent, SLOWLY)
    assert "Partition" in seen
    assert "60%" in seen
    assert re.search("0:00:0[0-9]", seen)  # the time left
    piped = subprocess.run(
        [sys.executable, "-m", "shoal", *command, "--force"],
        cwd=survey.parent,
        capture_output=True,
        check=True,
    )
    assert piped.stderr == b""


def test_the_first_run_says_that_it_compiles(survey: Path, tmp_path: Path, run: Callable) -> None:
    command = ["protect", "survey.csv", "-o", "out.csv", "--quasi", QUASI, "--force"]
    empty = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert "ompiling" in in_terminal(command, survey.parent, until="ompiling", **empty)
    assert run("protect", survey, "-o", tmp_path / "out.csv", "--quasi", QUASI, "--force").code == 0
    assert "ompiling" not in in_terminal(command, survey.parent)


def test_an_ignored_hangup_stays_ignored(run: Callable) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert run("--version").code == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_stopped_in_the_middle_leaves_nothing_behind(tmp_path: Path, sign: signal.Signals, code: int) -> None:
    script = (
        "import signal, time\nfrom shoal.partition.auto import Auto\nfrom shoal.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # which a job in the background ignores
        "def slow(*_):\n    print('now', flush=True)\n    time.sleep(60)\n"
        "Auto.partition = slow\nmain(['protect', 'survey.csv', '-o', 'out.csv', '--quasi', 'income'])"
    )
    shoal.write_table(shoal.survey(records=50), tmp_path / "survey.csv")
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "now\n"
    time.sleep(0.1)
    process.send_signal(sign)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["survey.csv"]
