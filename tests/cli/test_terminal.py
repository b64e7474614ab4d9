"""On a terminal: help in the order of work, completion, narrow windows, closed pipes, inputs before outputs."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import typer.main
from rich.console import Console
from rich.progress import Progress

import shoal
from shoal import registry
from shoal.cli import ORDER, _commands, app
from shoal.cli._tables import Bar

SHOAL = [sys.executable, "-m", "shoal"]
COMMANDS = sorted(registry.built_in("cli"))


@pytest.fixture(scope="module")
def group() -> Any:
    if not app.registered_commands:
        _commands()
    return typer.main.get_command(app)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    shoal.write_table(shoal.survey(60), tmp_path / "people.csv")
    return tmp_path / "people.csv"


def test_commands_are_in_the_order_of_work(run: Callable) -> None:
    printed = run("--help").out
    found = re.findall(r"^  (\w+)  +\w", printed.partition("Commands:")[2], re.MULTILINE)
    assert tuple(found[: len(ORDER)]) == ORDER
    assert found[len(ORDER) :] == sorted(found[len(ORDER) :])
    assert len(found) == len(COMMANDS)
    assert "..." not in printed.partition("Commands:")[2]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_h_is_help(run: Callable, command: str) -> None:
    name = [command.rstrip("_")] if command else []
    assert run(*name, "-h").out == run(*name, "--help").out != ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_that_it_takes(run: Callable, group: Any, command: str) -> None:
    module = importlib.import_module(f"shoal.cli.{command}")
    program, name, *arguments = shlex.split(module.EXAMPLE)
    assert (program, name) == ("shoal", command.rstrip("_"))
    group.commands[name].make_context(name, arguments)  # or it raises a usage error
    assert f"Example: {module.EXAMPLE}\n" in run(name, "--help").out
    assert len(module.SUMMARY) < 68


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("list_", "schema", "demo", "warm")])
def test_options_are_grouped(run: Callable, command: str) -> None:
    printed = run(command, "--help").out
    rest = printed.partition("\nOptions:\n")[2]
    assert len(re.findall(r"^  -", rest, re.MULTILINE)) <= 16
    if command not in ("inspect", "stream"):
        assert "\nMachine:\n" in printed


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("inspect", "shoal inspect [OPTIONS] FILE"),
        ("attack", "shoal attack [OPTIONS] ORIGINAL RELEASED…"),
        ("stream", "shoal stream [OPTIONS] [IN]"),
        ("list", "shoal list [OPTIONS] [WHAT]"),
    ],
)
def test_usage_names_the_arguments(run: Callable, command: str, usage: str) -> None:
    assert f"Usage: {usage}\n" in run(command, "--help").out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_forms_of_values_and_plain_defaults(run: Callable, command: str) -> None:
    printed = run(command.rstrip("_"), "--help").out
    assert not re.search(r"<\w|\[default: \(|default:\s+\(", printed)


def test_help_on_a_terminal_is_that_in_a_pipe(run: Callable) -> None:
    main, side = os.openpty()
    ran = subprocess.Popen([*SHOAL, "audit", "--help"], stdout=side, env={**os.environ, "COLUMNS": "80"})
    os.close(side)
    printed = b""
    with contextlib.suppress(OSError):  # the terminal ends
        while part := os.read(main, 1 << 16):
            printed += part
    assert ran.wait() == 0
    os.close(main)
    assert printed.decode().replace("\r\n", "\n") == run("audit", "--help").out


def test_help_is_quick() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*SHOAL, "--help"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.6  # 0.2 on an idle machine


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("shoal pro", {"protect"}),
        ("shoal explore --al", {"--all"}),
        ("shoal protect --method mda", {"mdav"}),
        ("shoal protect --release me", {"median", "medoid"}),
        ("shoal protect --row-order k", {"keep"}),
        ("shoal compare --measures il_sse,cor", {"il_sse,correlations"}),
        ("shoal attack --only unique", {"unique_columns"}),
        ("shoal explore --effort none,b", {"none,best"}),
        ("shoal list mo", {"models"}),
    ],
)
def test_shells_complete(typed: str, offered: set[str]) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_SHOAL_COMPLETE": "complete_bash"}
    ran = subprocess.run(SHOAL, env={**os.environ, **words}, capture_output=True, text=True, check=False)
    assert offered <= set(ran.stdout.split()), ran.stderr


def test_completion_can_be_installed(run: Callable) -> None:
    assert "--install-completion" in run("--help").out


def test_tables_are_stacked_in_a_narrow_window(run: Callable, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("audit", str(people), "--quasi", "region,marital", "--confidential", "health", "--require", "k=2")
    monkeypatch.setenv("COLUMNS", "59")
    narrow = run(*asked).out
    monkeypatch.setenv("COLUMNS", "100")
    wide = run(*asked).out
    assert "│" in wide
    assert "│" not in narrow
    cells = {cell.strip() for row in wide.splitlines() if row.startswith("│") for cell in row.strip("│").split("│")}
    flat = " ".join(narrow.split())
    for cell in cells:
        assert cell in flat, cell
    table = narrow[: narrow.index("\n\n")]
    assert max(map(len, table.splitlines())) < 60


@pytest.mark.parametrize("width", [60, 61, 80, 100])
def test_long_names_do_not_widen_tables(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    table = pa.table({"age" * 30: list(range(20)), f"{'w' * 24} {'v' * 24}": list(range(20)), "ill": list("abcd") * 5})
    shoal.write_table(table, tmp_path / "in.csv")
    rows = [line for line in run("inspect", str(tmp_path / "in.csv")).out.splitlines() if line[:1] in ("│", "┃")]
    assert rows
    assert max(map(len, rows)) <= width


@pytest.mark.parametrize("width", [60, 70, 80, 99, 100, 140])
def test_no_table_is_cut_or_tears_words(
    run: Callable, people: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    inspected = run("inspect", str(people)).out
    audited = run("audit", str(people), "--quasi", "region,income", "--confidential", "health").out
    for printed in (inspected, audited):
        table = re.search(r"\A.*?(\n└[^\n]*\n|\n\n)", printed, re.DOTALL)
        assert table is not None
        assert max(map(len, table[0].splitlines())) <= width
        assert "…" not in table[0].partition("… ")[0]
    words = set(re.findall(r"\w+", inspected)) | set(re.findall(r"\w+", audited))
    assert {"continuous", "confidential", "commute_minutes", "Distinct", "Achieved", "k_anonymity"} <= words


def test_nothing_is_cut_in_a_very_narrow_window(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    printed = run("list", "models").out
    assert "…" not in printed
    for key in registry.keys("privacy"):
        assert f"\n{key}\n" in printed


def closed_pipe(*arguments: str, **more: Any) -> tuple[int, str]:
    """Run a command with a closed standard output; return its exit code and its messages."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([*SHOAL, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, check=False, **more)
    os.close(writing)
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("arguments", [["list"], ["list", "methods"], ["schema"]])
def test_a_closed_pipe_is_quiet(arguments: list[str]) -> None:
    assert closed_pipe(*arguments) == (141, "")


def test_help_to_a_closed_pipe_is_quiet() -> None:
    assert closed_pipe("--help") == closed_pipe("protect", "--help") == closed_pipe("--version") == (141, "")


def test_a_file_is_protected_whoever_reads_the_summary(people: Path) -> None:
    for flags in ([], ["--json"]):
        asked = ["protect", "people.csv", "-o", "safe.csv", "--quasi", "income", "--k", "3", "--force", *flags]
        assert closed_pipe(*asked, cwd=people.parent) == (141, "")
        assert shoal.audit(people.with_name("safe.csv"), ["income"]).overall.achieved >= 3


def test_another_broken_pipe_is_a_failure(run: Callable, monkeypatch: pytest.MonkeyPatch, people: Path) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("shoal.api.audit.flow.audit_file", breaks)
    ran = run("audit", str(people), "--quasi", "income")
    assert ran.code not in (0, 141)


@pytest.mark.parametrize(
    "arguments",
    [
        ["protect", "no.csv", "-o", "there.csv", "--quasi", "a"],
        ["protect", "no.csv", "-o", "there.xyz", "--quasi", "a"],
        ["protect", "no.csv", "-o", "nowhere/out.csv", "--quasi", "a", "--report", "there.csv/r.html"],
        ["protect", "no.csv", "-o", "there.csv", "--quasi", "a", "--dry-run"],
        ["explore", "no.csv", "-o", "there.csv", "--quasi", "a"],
        ["explore", "no.csv", "-o", "nowhere/page.html", "--quasi", "a"],
        ["inspect", "no.csv", "--recipe", "there.csv"],
        ["stream", "no.csv", "-o", "there.csv", "--quasi", "a", "--bounds", "a=0:1", "--k", "3", "--delay", "5"],
    ],
)
def test_the_input_is_checked_before_the_output(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.csv").write_text("a\n1\n")
    ran = run(*arguments)
    assert (ran.code, ran.err) == (3, "shoal: no.csv: there is no such file. Check the path.\n")
    assert Path("there.csv").read_text() == "a\n1\n"


def test_all_settings_of_a_search(run: Callable, people: Path) -> None:
    methods = "mdav,pcp"
    asked = ("explore", str(people), "--quasi", "income,rent", "--methods", methods, "--k", "3,4,5", "--effort", "none")
    short, whole, found = run(*asked).out, run(*asked, "--all").out, json.loads(run(*asked, "--json").out)
    assert "All settings that ran, 60 records" in whole
    rows = [line for line in whole.splitlines() if line.startswith("│")]
    ran = [one for one in found["settings"] if one["state"] == "ran"]
    assert len(rows) == len(ran) > len(found["frontier"])
    assert sum("beaten" in row for row in rows) == len(ran) - len(found["frontier"])
    assert sum("recommended" in row for row in rows) == 1
    assert "beaten" not in short


def test_names_do_not_command_the_terminal(run: Callable, tmp_path: Path) -> None:
    title = "\x1b]0;title\x07\u202e"
    table = pa.table({f"pay{title}": list(range(20)), f"ill{title}": list("abcd") * 5})
    shoal.write_table(table, tmp_path / "in.parquet")
    pay, ill = table.column_names
    asked = ["audit", str(tmp_path / "in.parquet"), "--quasi"]
    printed = [
        run("inspect", str(tmp_path / "in.parquet")),
        run(*asked, pay, "--confidential", ill),
        run(*asked, "pax"),
    ]
    for ran in printed:
        text = ran.out + ran.err
        assert "pay\ufffd]0;title" in text
        assert not set("\x1b\x07\u202e") & set(text)


def test_messages_above_the_bar_are_not_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Console(file=StringIO(), force_terminal=True, width=100)
    with Progress(console=shown) as bar:
        Bar(bar).say("column [/]\x1b]0;t\x07 [red]is[/red] read as text")
    assert "column [/]\ufffd]0;t\ufffd [red]is[/red] read as text" in shown.file.getvalue()


@pytest.mark.parametrize("moment", ["shoal.registry", "typer", "shoal.cli.protect"])
def test_an_interruption_while_modules_load_is_quiet(tmp_path: Path, moment: str) -> None:
    """At the moment when this module would be imported, Ctrl-C comes."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {moment!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
    )
    places = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": places}
    ran = subprocess.run([*SHOAL, "list"], env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ("list > /dev/full", 5, "shoal: Standard output could not be written (No space left on device). "),
        ("schema > /dev/full", 5, "shoal: Standard output could not be written (No space left on device). "),
        ("--help > /dev/full", 5, "shoal: Standard output could not be written (No space left on device). "),
        ("list >&-", 5, "shoal: Standard output is closed, and the results go there. "),
        ("audit no.csv --quasi a 2>&-", 3, ""),
    ],
)
def test_closed_and_full_outputs(typed: str, code: int, said: str) -> None:
    ran = subprocess.run(["sh", "-c", f"{shlex.join(SHOAL)} {typed}"], stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == code
    assert ran.stderr.startswith(said)
    assert ran.stderr.count("\n") == bool(said)


@pytest.mark.parametrize("command", [["inspect"], ["explore", "--quasi", "a"]])
def test_a_folder_in_place_of_a_file_is_called_one(run: Callable, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "a.csv").write_text("a\n1\n2\n")
    ran = run(*command, str(tmp_path / "parts"))
    assert (ran.code, ran.err) == (2, f"shoal: {tmp_path}/parts: must be a file, got a folder. Name a file in it.\n")


def test_one_record_is_not_plural(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,b\n1,2\n")
    assert run("inspect", str(tmp_path / "one.csv")).out.startswith("Columns of 1 record, roles guessed\n")


def test_an_unknown_effort_of_a_search_is_called_effort(run: Callable, people: Path) -> None:
    ran = run("explore", str(people), "--quasi", "income", "--effort", "fsat")
    assert (ran.code, ran.err.partition(";")[0]) == (2, "shoal: Explore: no effort is called 'fsat'")
