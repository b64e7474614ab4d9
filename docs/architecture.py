"""Writes the generated parts of architecture.md, so that the page cannot go stale.

``python docs/architecture.py`` rewrites everything between ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``:

- ``layers`` and ``rules`` come from the import contracts in pyproject.toml, ``packages`` from the first line of each
  package's docstring.
- ``protect``, ``files`` and ``stream`` are the walks below. Both commands are run under a profiler; a step whose
  function is not executed, or not in this order, is an error.
- ``count`` is the number of files in which ``shoal protect --t 0.3 --report`` executes a function.

``tests/docs/test_architecture.py`` runs the same code and fails if the page shows something else. It compares no
numbers of files; it only checks that they stay below the limits that the page states.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).resolve().parent.parent
SOURCES = HOME / "src" / "shoal"
PAGE = HOME / "docs" / "architecture.md"

MOST_FILES_TO_READ = 15  # that a reader opens to follow `shoal protect`
MOST_FILES_EXECUTED = 202  # by `shoal protect --t 0.3 --report`; 200 while kernels compile; each measure is a file

_BLOCK = re.compile(r"(<!-- begin: (?P<name>\w+) -->\n).*?(<!-- end: (?P=name) -->)", re.DOTALL)


class Step(NamedTuple):
    """A stop on a walk: a function that is executed there, and what it does."""

    stage: str
    file: str
    function: str
    does: str


#: What happens to one record: ``shoal protect people.csv -o safe.csv --quasi birth,income``.
PROTECT = (
    Step("command", "cli/protect.py", "protect", "Collects the options of the command."),
    Step("command", "recipe/recipe.py", "Recipe.__post_init__", "Makes a recipe of them and checks every field."),
    Step("command", "api/protect.py", "protect", "The same function that Python users call."),
    Step("run", "flow/protect/protect.py", "protect_file", "Runs all stages below, in this order."),
    Step("run", "io/sinks/_file.py", "FileSink.staged", "Opens the output as a hidden file beside its final name."),
    Step("read", "flow/stages/read.py", "read_table", "Chooses the source by the file name and reads the table."),
    Step("read", "io/sources/csv.py", "Csv.read", "Parses bytes into columns of text."),
    Step("read", "schema/roles.py", "schema_of", "Gives each column a role and a kind."),
    Step("summarise", "flow/stages/summary.py", "summarise", "Counts what the plan must know of the data."),
    Step("plan", "flow/plan/plan.py", "make_plan", "Decides everything; every refusal is raised here, together."),
    Step("plan", "points/encoding.py", "Encoding.encode", "Turns the record into a point."),
    Step("run", "flow/protect/anonymise.py", "anonymise", "Goes from the table to the release."),
    Step("form", "flow/classes/form.py", "form", "Goes from the table to the classes."),
    Step("form", "partition/auto.py", "Auto.partition", "Puts the point into a class; any method has this function."),
    Step("form", "kernels/mdav/mdav.py", "mdav", "Computes the labels in machine code."),
    Step(
        "release", "release/centroid.py", "ClassValues.release", "Replaces the record's values with those of its class."
    ),
    Step("release", "flow/stages/measure.py", "read_measures", "Measures the loss."),
    Step("stage", "io/sinks/csv.py", "Csv.write", "Writes the hidden file."),
    Step("gate", "flow/gate/read_back.py", "read_back", "Reads the hidden file again, as a recipient would."),
    Step("gate", "flow/gate/gate.py", "gate", "Audits what was read; a promise that fails stops the run."),
    Step("gate", "privacy/k_anonymity.py", "KAnonymity.audit", "Counts the records of each class, with its own code."),
    Step("publish", "io/sinks/_atomic.py", "_publish", "Gives the hidden file its name, all at once."),
)

#: The files of that walk in which a reader follows the flow; the others are one method, format or model of many.
FOLLOW = (
    "cli/protect.py",
    "recipe/recipe.py",
    "api/protect.py",
    "flow/protect/protect.py",
    "flow/stages/read.py",
    "flow/stages/summary.py",
    "flow/plan/plan.py",
    "flow/protect/anonymise.py",
    "flow/classes/form.py",
    "points/encoding.py",
    "partition/auto.py",
    "release/centroid.py",
    "flow/gate/gate.py",
    "privacy/k_anonymity.py",
    "io/sinks/_atomic.py",
)

#: What happens to one tuple: ``shoal stream rates.jsonl -o safe.jsonl --quasi rate --bounds rate=30:250``.
STREAM = (
    Step("command", "cli/stream.py", "stream", "Collects the options of the command."),
    Step("command", "stream/recipe/recipe.py", "StreamRecipe.__post_init__", "Makes a recipe of them and checks it."),
    Step("command", "api/stream.py", "run_stream", "The same function that Python users call."),
    Step("run", "stream/run.py", "run_stream", "Opens both ends and runs the stream."),
    Step("run", "stream/channels/files.py", "Files.open", "Opens files, or continues from their journal."),
    Step("run", "stream/engine/loop.py", "Running.run", "Fetches, takes and commits until the stream ends."),
    Step("read", "stream/channels/_file_input.py", "Input.fetch", "Cuts bytes into records and keeps their offsets."),
    Step("read", "stream/engine/lane.py", "Lane.take", "Takes the record into its lane."),
    Step("read", "stream/wire/jsonl.py", "Jsonl.parse", "Parses the record into fields."),
    Step("form", "stream/engine/buffer.py", "Core.accept", "Lets the tuple wait in the buffer, as a point."),
    Step("form", "stream/partition/nearest.py", "_Around.advance", "Forms a class when the oldest tuple is due."),
    Step("form", "kernels/stream/nearest.py", "nearest", "Finds its nearest neighbours in machine code."),
    Step("release", "stream/points/numeric.py", "Numeric.centroid", "Computes the value of the class."),
    Step("release", "stream/wire/jsonl.py", "Jsonl.render", "Writes the tuples of the class as bytes."),
    Step("gate", "privacy/stream_gate/gate.py", "Gate.check", "Reads these bytes again and audits the class."),
    Step("publish", "stream/engine/lane.py", "Lane.step", "Collects classes and the cursor of those that wait."),
    Step("publish", "stream/channels/files.py", "_FileLink.commit", "Releases both in one step."),
    Step("publish", "stream/channels/_file_journal.py", "Journal.append", "Makes the step durable."),
)

Call = tuple[str, str]  # a file below src/shoal, and the qualified name of a function in it


class Traces(NamedTuple):
    """The functions that three commands executed, in the order in which each was first called."""

    report: Sequence[Call]
    protect: Sequence[Call]
    stream: Sequence[Call]


# Runs in a process of its own. A file counts if one of its functions runs after the modules have been imported; numba
# runs kernels as machine code, so a file of kernels counts if one of its Python functions runs.
_TRACER = """
import json, os, sys, threading
from shoal.cli import main

home, commands, seen, importing = sys.argv[1] + os.sep, json.loads(sys.argv[2]), {}, threading.local()

def profile(frame, event, _):
    code = frame.f_code
    if event not in ("call", "return") or not code.co_filename.startswith(home):
        return
    depth = getattr(importing, "depth", 0)
    if code.co_name == "<module>":
        importing.depth = depth + (1 if event == "call" else -1)
    elif event == "call" and not depth and code.co_flags & 1:  # a function, not the body of a class
        seen.setdefault((code.co_filename[len(home):].replace(os.sep, "/"), code.co_qualname))

found = []
for words in commands:
    seen.clear()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        main(words)
    except SystemExit as done:
        assert not done.code, (words, done.code)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    found.append(list(seen))
with open("traces.json", "w") as file:
    json.dump(found, file)
"""


def traces() -> Traces:
    """Run three commands on small synthetic data under a profiler."""
    table = "survey.csv --quasi birth,income --identifier person --k 5"
    commands = (
        f"protect {table} -o close.csv --confidential health --t 0.3 --report report.html",
        f"protect {table} -o safe.csv",
        "stream rates.jsonl -o safe.jsonl --quasi rate --bounds rate=30:250 --k 3 --delay 20",
    )
    rates = "".join(f'{{"ward": "w{i % 3}", "rate": {50 + 37 * i % 71}}}\n' for i in range(60))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rates.jsonl").write_text(rates, encoding="utf-8")
        _python(folder, "import shoal; shoal.write_table(shoal.survey().slice(0, 60), 'survey.csv')")
        _python(folder, _TRACER, str(SOURCES), json.dumps([words.split() for words in commands]))
        found = json.loads((folder / "traces.json").read_text(encoding="utf-8"))
    return Traces(*([(file, function) for file, function in calls] for calls in found))


def _python(folder: Path, program: str, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(HOME / "src"), "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if ran.returncode:
        raise RuntimeError(f"A traced command failed:\n{ran.stdout}{ran.stderr}")


def faults_of(walk: Iterable[Step], trace: Sequence[Call]) -> list[str]:
    """Return what is wrong with a walk: functions that were not executed, or later than a step after them.

    A function that runs several times counts from its first call.
    """
    first = {call: number for number, call in enumerate(trace)}
    faults, last = [], -1
    for step in walk:
        number = first.get((step.file, step.function))
        if number is None:
            faults.append(f"{step.file}: {step.function} is not executed.")
        elif number < last:
            faults.append(f"{step.file}: {step.function} is executed before the step above it.")
        last = max(last, number or 0)
    return faults


def contracts() -> list[dict[str, Any]]:
    """Return the import contracts of pyproject.toml."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = project["tool"]["importlinter"]["contracts"]
    return found


def _layers(found: Iterable[Mapping[str, Any]]) -> str:
    parts = []
    for contract in found:
        if contract["type"] == "layers":
            lines = "\n".join(layer.replace("shoal.", "") for layer in contract["layers"])
            parts.append(f"**{contract['name']}**\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def _rules(found: Iterable[Mapping[str, Any]]) -> str:
    parts = []
    for contract in found:
        if contract["type"] == "forbidden":
            sources, forbidden = (
                ", ".join(f"`{name.removeprefix('shoal.')}`" for name in contract[key])
                for key in ("source_modules", "forbidden_modules")
            )
            how = "import directly" if contract.get("allow_indirect_imports") else "import, directly or indirectly,"
            parts.append(f"- **{contract['name']}.** {sources} must not {how} {forbidden}.\n")
    return "".join(parts)


def summary(path: Path) -> str:
    """Return the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def _packages() -> str:
    rows = ["| Package | |\n|---|---|\n"]
    for package in sorted(SOURCES.rglob("__init__.py")):
        name = package.parent.relative_to(SOURCES).as_posix()
        if name != ".":
            rows.append(f"| `{name}/` | {summary(package)} |\n")
    for module in sorted(SOURCES.glob("[a-z]*.py")):
        rows.append(f"| `{module.name}` | {summary(module)} |\n")
    return "".join(rows)


def _walk(steps: Iterable[Step]) -> str:
    rows = [f"| {s.stage} | `{s.file}` | `{s.function}` | {s.does} |\n" for s in steps]
    return "".join(["| Stage | File | Function | |\n|---|---|---|---|\n", *rows])


def _files() -> str:
    return "".join(f"{number}. `{file}`: {summary(SOURCES / file)}\n" for number, file in enumerate(FOLLOW, 1))


def executed(trace: Iterable[Call]) -> set[str]:
    """Return the files in which something was executed."""
    return {file for file, _ in trace}


def _count(trace: Iterable[Call]) -> str:
    files = executed(trace)
    packages = Counter(file.split("/")[0] + "/" if "/" in file else "(top level)" for file in files)
    rows = [f"| `{name}` | {count} |\n" for name, count in sorted(packages.items(), key=lambda row: (-row[1], row[0]))]
    return (
        f"`shoal protect --t 0.3 --report` executes code in **{len(files)} files**; {MOST_FILES_EXECUTED} are the most "
        "that the tests allow.\n\n| Package | Files |\n|---|---|\n" + "".join(rows)
    )


def generated(found: Traces | None = None) -> dict[str, str]:
    """Return the generated parts of the page by name; ``count`` only if there are traces."""
    parts = {
        "layers": _layers(contracts()),
        "rules": _rules(contracts()),
        "packages": _packages(),
        "protect": _walk(PROTECT),
        "files": _files(),
        "stream": _walk(STREAM),
    }
    return parts if found is None else {**parts, "count": _count(found.report)}


def rewritten(text: str, parts: Mapping[str, str]) -> str:
    """Return the text of the page with these parts in place; others stay as they are."""
    missing = sorted(set(parts) - {block["name"] for block in _BLOCK.finditer(text)})
    if missing:
        raise ValueError(f"architecture.md has no place for: {', '.join(missing)}")
    return _BLOCK.sub(
        lambda block: f"{block[1]}\n{parts[block['name']]}\n{block[3]}" if block["name"] in parts else block[0], text
    )


def main() -> None:
    """Trace the commands and rewrite the page."""
    found = traces()
    faults = [*faults_of(PROTECT, found.protect), *faults_of(STREAM, found.stream)]
    if faults:
        sys.exit("docs/architecture.py: correct the walks.\n" + "\n".join(faults))
    before = PAGE.read_text(encoding="utf-8")
    after = rewritten(before, generated(found))
    if after != before:
        PAGE.write_text(after, encoding="utf-8")
        print(f"{PAGE.relative_to(HOME)}: written")


if __name__ == "__main__":
    main()
