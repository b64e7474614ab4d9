"""A search that is cut short: by a signal, by the clock, by a listener; what has finished is written."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from shoal.flow.explore import search
from shoal.flow.explore.grid import Candidate
from shoal.flow.explore.run_setting import Result
from shoal.progress import Enough, listening

SCRIPT = """
import signal, sys, time
from shoal.partition.tour import Tour
from shoal.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background ignores
def slow(*_):  # as a kernel that does not listen
    print("begun", file=sys.stderr, flush=True)
    time.sleep(60)
Tour.partition = slow
main(sys.argv[1:])
"""
COMMAND = ["explore", "in.csv", "--quasi", "age,pay", "--k", "3,4", "--jobs", "1", "-o", "page.html"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = pa.table({"age": [7 * i % 41 for i in range(40)], "pay": [i % 9 for i in range(40)]})
    shoal.write_table(table, tmp_path / "in.csv")
    return tmp_path


def begun(folder: Path, *more: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", SCRIPT, *COMMAND, *more]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_search_and_what_has_finished_is_written(
    folder: Path, sign: signal.Signals, code: int
) -> None:
    process = begun(folder, "--methods", "mdav,tour", "--save-recipe", "best.toml")
    assert process.stderr is not None
    lines = []
    while sum(line.startswith("[") for line in lines) < 2:  # lines, because there is no terminal
        lines.append(process.stderr.readline())
        assert lines[-1], lines  # it ended too early
    assert "mdav, k = " in lines[-1]
    process.send_signal(sign)
    since = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert time.monotonic() - since < 4  # two seconds are promised; a slow machine may take twice as long
    assert (process.returncode, err.replace("begun\n", "")) == (code, "")
    assert "2 of 4 settings ran before the search was stopped." in out
    assert "Recommended: mdav" in out
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<p>tour, k = 3; tour, k = 4.</p>" in page
    assert page.endswith("</html>\n")
    assert shoal.Recipe.load(folder / "best.toml").method == "mdav"
    assert sorted(path.name for path in folder.iterdir()) == ["best.toml", "in.csv", "page.html"]


def test_a_signal_before_anything_has_finished_writes_nothing(folder: Path) -> None:
    process = begun(folder, "--methods", "tour")
    assert process.stderr is not None
    while process.stderr.readline() != "begun\n":
        pass
    process.send_signal(signal.SIGINT)
    since = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert time.monotonic() - since < 4  # two seconds are promised; a slow machine may take twice as long
    assert process.returncode == 130
    assert err == "shoal: Stopped before any setting had finished. Nothing was written.\n"
    assert [path.name for path in folder.iterdir()] == ["in.csv"]


def test_the_time_limit_is_one_of_the_clock(folder: Path) -> None:
    process = begun(folder, "--methods", "mdav,tour", "--seconds", "3", "--json")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err.replace("begun\n", "")) == (0, "")
    told = json.loads(out)
    assert told["stopped"] == "the time was up"
    states = [one["state"] for one in told["settings"]]
    assert "ran" in states[:2]
    assert states[2:] == ["not finished", "not finished"]
    assert "were not finished when the time was up" in (folder / "page.html").read_text(encoding="utf-8")


def candidate(method: str, level: int = 0) -> Candidate:
    recipe = shoal.Recipe(quasi=["a"], method=method)
    return Candidate(recipe.to_dict(), recipe, None, level, "", True)


def tried(recipe: shoal.Recipe) -> Result:
    return Result(5, 9, "", 1.0, 2.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    passed = [0.0]
    monkeypatch.setattr(search, "now", lambda: passed[0])
    return lambda: passed.__setitem__(0, passed[0] + 10.0)


def test_a_setting_that_does_not_fit_into_the_remaining_time_is_not_begun(clock: Callable) -> None:
    def slow(recipe: shoal.Recipe) -> Result:
        clock()
        return tried(recipe)

    trials = [search.Trial(candidate(name), seconds) for name, seconds in (("mdav", 1), ("tour", 12), ("pcp", 9))]
    found = search.at_once(slow, trials, 1, 20.5)
    assert [one is not None for one in found.results] == [True, False, True]
    assert found.stopped == search.TIME


def test_the_cheapest_runs_even_without_time(clock: Callable) -> None:
    trials = [search.Trial(candidate("mdav"), 9.0), search.Trial(candidate("tour"), 3.0)]
    assert [one is not None for one in search.at_once(tried, trials, 1, -1.0).results] == [False, True]


def test_a_listener_ends_it_and_running_settings_learn_it() -> None:
    ended = []

    def endless(recipe: shoal.Recipe) -> Result:
        if recipe.method == "mdav":
            return tried(recipe)
        try:
            while True:
                search.progress.report(0, 1)
        except Enough:
            ended.append(recipe.method)
            raise

    class Impatient:
        def stage(self, name: str) -> None: ...
        def say(self, text: str) -> None: ...
        def finished(self, text: str) -> None: ...
        def report(self, done: int, total: int) -> None:
            if done:
                raise Enough

    with listening(Impatient()):
        found = search.at_once(endless, [search.Trial(candidate(m), 1.0) for m in ("mdav", "tour")], 2, float("inf"))
    assert [one is None for one in found.results] == [False, True]
    assert found.stopped == search.ASKED
    since = time.monotonic()
    while not ended and time.monotonic() - since < 30:
        time.sleep(0.01)
    assert ended == ["tour"]
