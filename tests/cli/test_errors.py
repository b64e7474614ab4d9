"""Bad input gets one clear sentence and an exit code; nothing is written, and no value is printed."""

from __future__ import annotations

import errno
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal import registry
from shoal.errors import listing

_HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("scenarios", _HERE / "scenarios.py")
assert _spec is not None
assert _spec.loader is not None
scenarios = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scenarios)
SCENARIOS, SECRET, PEOPLE, command = scenarios.SCENARIOS, scenarios.SECRET, scenarios.PEOPLE, scenarios.command

DOCS = _HERE.parents[1] / "docs" / "errors.md"


#: Errors of a disk while a stream writes to it.
STREAM_DISK_ERRORS = {
    "Stream: disk full": OSError(errno.ENOSPC, "No space left on device"),
    "Stream: a limit on the size of files": OSError(errno.EFBIG, "File too large"),
    "Stream: a broken disk": OSError(errno.EIO, "Input/output error"),
}


def row(title: str, code: int, message: str) -> str:
    """The row of docs/errors.md that a scenario must have."""
    sentence = message.removeprefix("shoal:").strip().replace("\n", "<br>").replace("|", "\\|")
    sentence = sentence.replace(
        listing(registry.keys("partition"), most=20), "anneal, auto, …"
    )  # a new one changes nothing
    return f"| {title} | {sentence} | {code} |"


def contents(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.mark.parametrize("title", SCENARIOS)
def test_one_sentence_and_nothing_written(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable, plug_in: Callable
) -> None:
    code, arrange = SCENARIOS[title]
    monkeypatch.chdir(tmp_path)
    for name, value in scenarios.VARIABLES[title].items():
        monkeypatch.setenv(name, value)
    arguments = arrange(tmp_path)
    if (tmp_path / "site").exists():
        plug_in(tmp_path / "site")
    before = contents(tmp_path)
    ran = run(*arguments)
    assert ran.code == code
    assert contents(tmp_path) == before
    assert SECRET not in ran.out + ran.err
    assert "Traceback" not in ran.err
    if arguments[0] == "audit" and code == 4:
        assert "DOES NOT HOLD" in ran.out
        return
    assert ran.out == ""
    before, mark, error = ran.err.rpartition("shoal:")  # settings that finished, and how long the work takes
    assert mark
    assert not before or arguments[0] == "explore" or before.startswith("This takes")
    assert row(title, code, error) in DOCS.read_text(encoding="utf-8").splitlines()


def test_every_row_of_the_page_has_a_scenario() -> None:
    rows = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    titles = {line.split("|")[1].strip() for line in rows} - {
        "What happened",
        "Exit code",
        *("0", "1", "2", "3", "4", "5", "130, 143, 129"),
    }
    elsewhere = {
        "Read-only folder",
        "Disk full",
        *STREAM_DISK_ERRORS,
        "Interrupted by Ctrl-C",
        "Audit: a requirement that does not hold",
        "Audit: t that does not hold",
        "Vector code neither on nor off",
        "Kernels in a folder that others may write to",
    }
    assert titles == set(SCENARIOS) | elsewhere


@pytest.mark.parametrize(
    ("title", "variable", "value"),
    [
        ("Vector code neither on nor off", "SHOAL_VECTOR", "maybe"),
        ("Kernels in a folder that others may write to", "SHOAL_CACHE", "."),
    ],
)
def test_variables_of_the_compiler(title: str, variable: str, value: str, tmp_path: Path) -> None:
    """In a process of its own: they count when the first kernel is loaded."""
    arguments = command(tmp_path)
    tmp_path.chmod(0o777)
    ran = subprocess.run(
        [sys.executable, "-m", "shoal", *arguments],
        cwd=tmp_path, env={**os.environ, variable: value}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    tmp_path.chmod(0o700)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert not (tmp_path / "out.csv").exists()
    assert row(title, 2, ran.stderr) in DOCS.read_text(encoding="utf-8").splitlines()


def test_wrong_usage_is_exit_2(run: Callable) -> None:
    for arguments in (["protect"], ["protect", "a.csv", "-o", "b.csv", "--k", "five"], ["--nonsense"], ["swim"]):
        ran = run(*arguments)
        assert ran.code == 2
        assert ran.out == ""
        assert ran.err


def test_read_only_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = command(tmp_path)
    assert run(*arguments).code == 0  # also loads what is loaded late, before rights are given up
    (tmp_path / "out.csv").unlink()
    tmp_path.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        ran = run(*arguments)
    finally:
        if root:
            os.seteuid(0)
        tmp_path.chmod(0o755)
    assert ran.code == 5
    assert row("Read-only folder", 5, ran.err) in DOCS.read_text(encoding="utf-8").splitlines()
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_disk_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    from shoal.io.sinks import _atomic as atomic

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(tmp_path)
    arguments = command(tmp_path)
    monkeypatch.setattr(atomic.os, "fsync", full)
    ran = run(*arguments)
    assert ran.code == 5
    assert row("Disk full", 5, ran.err) in DOCS.read_text(encoding="utf-8").splitlines()
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize("title", STREAM_DISK_ERRORS)
def test_disk_errors_of_a_stream(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    from shoal.stream.channels import _file_output as output

    def failing(*_: object) -> None:
        raise STREAM_DISK_ERRORS[title]

    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    monkeypatch.setattr(output.os, "fsync", failing)
    ran = run("stream", "people.csv", "-o", "out.csv", *scenarios.STREAM)
    assert ran.code == 5
    assert row(title, 5, ran.err) in DOCS.read_text(encoding="utf-8").splitlines()


def test_disk_full_for_real(tmp_path: Path) -> None:
    """A limit on the size of files stands in for a disk that has no room for the output."""
    (tmp_path / "big.csv").write_text("x,y\n" + "".join(f"{i},{i * 7 % 1000}\n" for i in range(20_000)))
    script = (
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "from shoal.cli import main\nmain(['protect', 'big.csv', '-o', 'out.csv', '--quasi', 'x,y'])"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 5
    assert "out.csv: could not be written" in ran.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["big.csv"]


def test_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    from shoal.partition.auto import Auto

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Auto, "partition", interrupted)
    ran = run(*command(tmp_path))
    assert ran.code == 130
    assert row("Interrupted by Ctrl-C", 130, ran.err) in DOCS.read_text(encoding="utf-8").splitlines()
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_a_bug_shows_no_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    from shoal.partition.auto import Auto

    def broken(*_: object) -> None:
        raise RuntimeError(SECRET)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Auto, "partition", broken)
    ran = run(*command(tmp_path))
    assert ran.code == 1
    assert "shoal itself failed (RuntimeError). No unfinished file was left behind." in ran.err
    assert SECRET not in ran.err


FINE = {
    "constant columns": "a,b\n" + "5,7\n" * 9,
    "all rows equal but for another column": "a,b,c\n" + "".join(f"1,2,{i}\n" for i in range(9)),
    "numbers near 1e308": "a,b\n" + "".join(f"{s}1.{i}e308,{i}\n" for i in range(8) for s in ("", "-")),
    "tiny numbers": "a,b\n" + "".join(f"{i}e-320,{i}e-300\n" for i in range(9)),
    "columns named like keywords": "a,b,class,def,row,k\n" + "".join(f"{i},{i},1,2,3,4\n" for i in range(9)),
    "n equal to k": "a,b\n1,2\n2,3\n5,7\n",
    "blanks around numbers": "a,b\n" + "".join(f" {i} ,{i}\n" for i in range(9)),
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_fine(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(*command(tmp_path, text=FINE[name], quasi="a,b"))
    assert (ran.code, ran.err) == (0, "")
    assert run("audit", "out.csv", "--quasi", "a,b", "--require", "k=3").code == 0
    if name == "constant columns":
        assert (tmp_path / "out.csv").read_text() == FINE[name]


@pytest.mark.parametrize("columns", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_many_columns(columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"c{j}" for j in range(columns)]
    rows = "".join(",".join(str((i * j) % 11) for j in range(columns)) + "\n" for i in range(7))
    text = ",".join(names) + "\n" + rows
    few = run(*command(tmp_path, text=text, quasi="c1,c2,c3"))
    assert (few.code, few.err) == (0, "")
    (tmp_path / "r.toml").write_text(f"quasi = {names}\nk = 3\n".replace("'", '"'))
    everything = run("protect", "people.csv", "-o", "all.csv", "--recipe", "r.toml")
    assert (everything.code, everything.err) == (0, "")
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 8


def test_a_summary_that_cannot_be_printed_is_not_called_a_failure_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(tmp_path)
    arguments = [sys.executable, "-m", "shoal", *command(tmp_path)]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(arguments, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 5
    assert ran.stderr == "shoal: out.csv: was written and audited, but the summary could not be printed.\n"
    assert (tmp_path / "out.csv").exists()


def test_names_that_the_terminal_cannot_show(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "shoal", *command(tmp_path, text=PEOPLE.replace("region", "régiön"))]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ran = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_values_that_json_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable) -> None:
    import json

    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("x\n" + "1\n" * 4)
    Path("b.csv").write_text("x\n" + "1e300\n-1e300\n" * 2)
    ran = run("compare", "a.csv", "b.csv", "--columns", "x", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out)["sse"] is None
