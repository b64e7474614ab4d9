"""``shoal verify`` as a gate: exit codes, JSON, and the snippets of the page on evidence."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
PAGE = (HOME / "docs" / "evidence.md").read_text(encoding="utf-8")
PEOPLE = "name,age,income\n" + "".join(f"person {i},{20 + i},{1000 + 7 * i * i}\n" for i in range(12))


def protected(folder: Path, run: Callable, name: str = "safe") -> None:
    folder.mkdir(exist_ok=True)
    (folder / "people.csv").write_text(PEOPLE)
    options = ["--quasi", "age,income", "--identifier", "name", "--k", "3", "--evidence", folder / f"{name}.json"]
    options += ["--receipt", folder.parent / f"{name}_receipt.json", "--force"]
    assert run("protect", folder / "people.csv", "-o", folder / f"{name}.csv", *options).code == 0


def spoil(path: Path) -> None:
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "1" + lines[1], *lines[2:]]) + "\n")


def test_exit_codes_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    protected(tmp_path, run)
    receipt = tmp_path.parent / "safe_receipt.json"
    ran = run("verify", "safe.json", "safe.csv", "--input", "people.csv", "--receipt", receipt, "--json")
    assert (ran.code, ran.err) == (0, "")
    said = json.loads(ran.out)
    assert said["holds"] is True
    assert said["failed"] == 0
    assert {check["verdict"] for check in said["checks"]} == {"holds", "cannot be checked"}
    spoil(tmp_path / "safe.csv")
    ran = run("verify", "safe.json", "safe.csv", "--json")
    assert (ran.code, ran.err) == (4, "")
    said = json.loads(ran.out)
    assert said["holds"] is False
    wrong = {check["claim"] for check in said["checks"] if check["verdict"] == "does not hold"}
    assert {"safe.csv is the released file", "k_anonymity over age, income"} <= wrong
    ran = run("verify", "safe.json", "safe.csv")
    assert ran.code == 4
    assert "DOES NOT HOLD" in ran.out
    assert "another file" in ran.out
    assert run("verify", "safe.json").code == 2


def test_what_is_required_and_strict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    protected(tmp_path, run)
    ran = run("verify", "safe.json", "safe.csv", "--require", "k=3", "--strict")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "Promised: k = 3 over age, income."
    ran = run("verify", "safe.json", "safe.csv", "--require", "k=3", "--require", "p=2", "--json")
    assert ran.code == 4
    said = json.loads(ran.out)
    assert (said["k"], said["promise"]) == (3, "Promised: k = 3 over age, income.")
    assert said["promised"] == [
        {"model": "k_anonymity", "short": "k", "levels": [3], "over": ["age", "income"], "of": None}
    ]
    ran = run("verify", "safe.json", "safe.csv", "--require", "k=4")
    assert ran.code == 4
    assert "claims does not hold." in ran.out
    assert run("verify", "safe.json", "safe.csv", "--require", "").code == 2
    options = ["--quasi", "age,income", "--identifier", "name", "--k", "3", "--method", "individual_ranking"]
    assert run("protect", "people.csv", "-o", "each.csv", *options, "--evidence", "each.json").code == 0
    ran = run("verify", "each.json", "each.csv")
    assert ran.code == 0
    assert ran.out.splitlines()[0].startswith("Promised: no k over all quasi-identifiers together; k = 3 over age;")
    assert "NOT PROMISED" in ran.out
    ran = run("verify", "each.json", "each.csv", "--strict")
    assert (ran.code, "not everything is verified: k over all quasi" in ran.out) == (4, True)
    assert run("verify", "each.json", "each.csv", "--require", "k=3").code == 4


def test_the_input_needs_the_receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    protected(tmp_path, run)
    ran = run("verify", "safe.json", "safe.csv", "--input", "people.csv")
    assert (ran.code, ran.out) == (2, "")
    assert "must be given with the receipt" in ran.err
    receipt = tmp_path.parent / "safe_receipt.json"
    (tmp_path / "people.csv").write_text(PEOPLE + "person 12,40,9000\n")
    assert run("verify", "safe.json", "safe.csv", "--input", "people.csv", "--receipt", receipt).code == 4
    assert run("verify", "safe.json", "safe.csv", "--receipt", "safe.json").code == 3


def test_a_swap_is_repeated_by_its_receipt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    swap = ["protect", "people.csv", "--quasi", "age,income", "--identifier", "name", "--k", "3", "--release", "swap"]
    assert run(*swap, "-o", "a.csv", "--receipt", "r.json").code == 0
    assert run(*swap, "-o", "b.csv", "--repeat", "r.json").code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    ran = run(*swap, "-o", "c.csv", "--receipt", "r.json")
    assert (ran.code, "already exists" in ran.err, (tmp_path / "c.csv").exists()) == (2, True, False)
    (tmp_path / "people.csv").write_text(PEOPLE + "person 12,40,9000\n")
    ran = run(*swap, "-o", "c.csv", "--repeat", "r.json")
    assert (ran.code, "commitment does not match" in ran.err, (tmp_path / "c.csv").exists()) == (3, True, False)


def test_what_is_printed_of_readings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    given = ["protect", "people.csv", "--quasi", "age,income", "--identifier", "name", "--k", "3", "--force"]
    ran = run(*given, "-o", "a.csv", "--json", "--certify")
    said = json.loads(ran.out)
    figures = [*said["readings"].values(), *(v for v in said["certificate"].values() if isinstance(v, float))]
    assert len(figures) == 11
    assert all(value == float(f"{value:.3g}") for value in figures)
    words = run(*given, "-o", "a.csv", "--certify").out
    assert f"{said['readings']['il_sse']:g} %" in words
    assert not re.search(r"[1-9]\d*\.\d{3}|0\.[1-9]\d{3}", words[words.index("Loss") :])
    for release in ("swap", "anatomy"):
        more = ["--release", release, *(["--confidential", "income"] if release == "anatomy" else [])]
        more += ["--quasi", "age"] if release == "anatomy" else []
        assert json.loads(run(*given, *more, "-o", "a.csv", "--json").out)["readings"] == {}
        words = run(*given, *more, "-o", "a.csv").out
        assert "il_sse" not in words
        assert ("measure it with shoal compare" in words) is (release == "swap")


def test_no_value_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    protected(tmp_path, run)
    path = tmp_path / "safe.csv"
    path.write_text(path.read_text().replace(path.read_text().splitlines()[3], "31415926,31415926"))
    ran = run("verify", "safe.json", "safe.csv")
    assert ran.code == 4
    assert "31415926" not in ran.out + ran.err


def snippet(name: str) -> str:
    found = re.search(rf'^```\w+ title="{name}"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which ``shoal`` is this one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "shoal").write_text(f'#!/bin/sh\nexec {sys.executable} -m shoal "$@"\n')
    (programs / "shoal").chmod(0o755)
    return {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_makefile_publishes_what_is_verified_only(
    tmp_path: Path, environment: dict[str, str], run: Callable
) -> None:
    protected(tmp_path, run)
    (tmp_path / "Makefile").write_text(snippet("Makefile"))
    done = subprocess.run(["make", "publish"], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0
    assert (tmp_path / "public" / "safe.csv").exists()
    shutil.rmtree(tmp_path / "public")
    spoil(tmp_path / "safe.csv")
    done = subprocess.run(["make", "publish"], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode != 0
    assert not (tmp_path / "public").exists()


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_the_hook_stops_an_upload(tmp_path: Path, environment: dict[str, str], run: Callable) -> None:
    protected(tmp_path / "outbox", run, "one")
    protected(tmp_path / "outbox", run, "two")
    (tmp_path / "hook").write_text(snippet("before-upload.sh"))
    done = subprocess.run(["sh", "hook"], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads((tmp_path / "outbox" / "two.verified").read_text())["holds"] is True
    spoil(tmp_path / "outbox" / "two.csv")
    done = subprocess.run(["sh", "hook"], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 4
