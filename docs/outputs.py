"""Runner for the blocks of documentation pages; writes their output into the pages.

``python docs/outputs.py`` rewrites the outputs shown in README.md and in every page here; the tests of
``tests/docs`` run the same code and fail if a page shows another output. All blocks of a page run in one empty
folder, from top to bottom:

- ``console``: lines that begin with ``$`` are commands, the lines below are their output. ``shoal`` runs in this
  process. ``make``, ``pip`` and ``git`` are not run. A command must succeed, unless ``$ echo $?`` follows it. A
  line with only ``…`` stands for omitted lines.
- ``python``: runs as one program over the whole page. A ``text`` block right below it is what it prints. A block that
  imports pyspark runs in a process of its own.
- a block with a title, such as ``toml title="recipe.toml"``, is a file in the folder.
- ``<!-- needs adult.csv -->`` copies a file of the reference data into the folder. Pages that need one are skipped
  unless SHOAL_DATA names the folder of the reference data.

A table below ``<!-- fields of Recipe -->`` is written from the declarations of that class, one below
``<!-- options of protect -->`` from the options of that command, and one below ``<!-- parameters of set -->`` from
the declarations of all components whose parameters are given there.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.parameters import Declared, alternatives, declarations

HOME = Path(__file__).resolve().parent.parent
_FENCE = re.compile(r"^```(?P<info>[^\n`]+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"^<!-- (?P<what>fields|options|parameters) of (?P<name>\w+) -->\n\n(?:\|[^\n]*\n)*", re.MULTILINE)
_TITLE = re.compile(r'title="(?P<name>[^"]+)"')
_NEEDS = re.compile(r"^<!-- needs (?P<name>[\w.-]+) -->$", re.MULTILINE)
_NOT_RUN = ("make", "pip", "git")
_MEANS = {"make demo": "shoal demo demo"}
_PROGRESS = re.compile(r"\[\d+/\d+\] .* s$|compiling the kernels, once")  # durations differ from run to run
_CUT = "…\n"
_APART = re.compile(r"^(from|import) pyspark", re.MULTILINE)  # a process has one JVM, which stays in its first folder


@dataclass
class Reader:
    """A reader who types the commands of a page: an empty folder, the variables so far, the last exit code."""

    folder: Path
    skipped: Sequence[str] = ()  #: ends of commands that are not run
    variables: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    code: int = 0

    def type(self, command: str) -> str:
        """Run a command, store its exit code, and return what it prints on either stream."""
        words = shlex.split(command)
        if words == ["echo", "$?"]:
            code, self.code = self.code, 0
            return f"{code}\n"
        if self.code:
            raise AssertionError(f"The command before `{command}` ended with exit code {self.code}.")
        if words[0] == "shoal":
            with _printed() as printed:
                self.code = _shoal(words[1:])
            return printed.getvalue()
        done = subprocess.run(
            words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        self.code = done.returncode
        return done.stdout

    def skips(self, command: str) -> bool:
        """Tell whether a command is not run, and its output stays as shown."""
        return command.split(maxsplit=1)[0] in _NOT_RUN or command.endswith(tuple(self.skipped))

    def run(self, program: str) -> str:
        """Return what a Python block prints."""
        if _APART.search(program):
            return self._run_apart(program)
        with _printed() as printed:
            exec(compile(program, "<page>", "exec", dont_inherit=True), self.variables)
        return printed.getvalue()

    def _run_apart(self, program: str) -> str:
        """Return what a program prints in a process of its own, without the log of Spark."""
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=self.folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise AssertionError(f"A program ended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout


def pages() -> list[Path]:
    """Return every page whose blocks can be run."""
    return [HOME / "README.md", *sorted((HOME / "docs").rglob("*.md"))]


def lacks(text: str) -> str:
    """Return why a page's blocks cannot be run, or an empty text."""
    if not _NEEDS.search(text) or os.environ.get("SHOAL_DATA"):
        return ""
    return "SHOAL_DATA does not name the folder of the reference data (CASC, UCI)"


def rewritten(text: str, folder: Path, skipped: Sequence[str] = ()) -> str:
    """Return a page's text with the real outputs of its blocks, run in an empty folder."""
    reader, parts, end = Reader(folder, skipped), [], 0
    printed: str | None = None
    for name in _NEEDS.findall(text):
        shutil.copyfile(Path(os.environ["SHOAL_DATA"]) / name, folder / name)
    with _at(folder):
        for fence in _FENCE.finditer(text):
            info, body = fence["info"], fence["body"]
            between = text[end : fence.start()]
            title = _TITLE.search(info)
            if title:
                Path(title["name"]).parent.mkdir(parents=True, exist_ok=True)
                Path(title["name"]).write_text(body, encoding="utf-8")
            elif info == "console":
                body = _session(body, reader)
            elif info == "text" and printed is not None and not between.strip():
                body = _tidy(printed)
            printed = reader.run(body) if info == "python" and not title else None
            parts += [between, f"```{info}\n{body}```"]
            end = fence.end()
    if reader.code:
        raise AssertionError(f"The last command of the page ended with exit code {reader.code}.")
    return with_tables("".join([*parts, text[end:]]))


def with_tables(text: str) -> str:
    """Return a page's text with the tables that are written from declarations."""

    def table(found: re.Match[str]) -> str:
        made = {"fields": _fields_of, "options": _options_of, "parameters": _parameters_of}
        rows = made[found["what"]](found["name"])
        return f"<!-- {found['what']} of {found['name']} -->\n\n" + "".join(f"{row}\n" for row in rows)

    return _TABLE.sub(table, text)


def _options_of(name: str) -> list[str]:
    """Return the table of a command's options, as ``--help`` has them, with what their declarations add."""
    from typer.models import OptionInfo

    from shoal.recipe.fields import RecipeFields, TextFormat
    from shoal.stream.recipe.fields import StreamFields

    of, text = (StreamFields, ()) if name == "stream" else (RecipeFields, declarations(TextFormat))
    declared = {one.name: one.param for one in declarations(of)}
    if name not in ("protect", "explore", "stream"):  # these make releases, about which declarations say more
        declared = {its: replace(param, more="") for its, param in declared.items()}
    command = getattr(importlib.import_module(f"shoal.cli.{name}"), name)
    rows = ["| Option | Meaning |", "|---|---|"]
    for one in inspect.signature(command, eval_str=True).parameters.values():
        kind, info = typing.get_args(one.annotation)
        if isinstance(info, OptionInfo) and not info.hidden and one.name not in [its.name for its in text]:
            rows.append(f"| {_option(one, kind, info)} | {_meaning(one, kind, info, declared.get(one.name))} |")
        elif text and one.name == text[-1].name:
            options = ", ".join(f"`--{its.name}`" for its in text)
            rows.append(f"| {options} | Format of a text file, if the detected one is wrong. See [Files](files.md). |")
    return rows


def _option(one: inspect.Parameter, kind: Any, info: Any) -> str:
    written = [text for text in (info.default, *(info.param_decls or ())) if str(text).startswith("-")]
    names = written or [f"--{one.name.replace('_', '-')}"]
    words = {"int": "N", "float": "NUMBER", "bool": ""}
    value = info.metavar or words.get(str(getattr(kind, "__name__", kind)).split(" ")[0], "NAME")
    first = f"{names[0]} {value}".rstrip().replace("|", "\\|")
    return ", ".join(f"`{text}`" for text in (first, *names[1:]))


def _meaning(one: inspect.Parameter, kind: Any, info: Any, param: Any) -> str:
    parts = [info.help]
    usual = info.show_default if isinstance(info.show_default, str) else one.default
    if one.default is one.empty:
        parts.append("Required.")
    elif usual not in (None, False):
        shown = f"{usual:g}" if isinstance(usual, float) else f"{usual:,}" if isinstance(usual, int) else str(usual)
        parts.append(f"Default: {shown}." if " " in shown else f"Default: `{shown}`.")
    if "list[" in str(kind):
        parts.append("May be given several times.")
    if param is not None and info.help == f"{param.description}.":
        parts += [param.more] * bool(param.more) + [f"See {param.see}."] * bool(param.see)
    return " ".join(parts)


def _fields_of(name: str) -> list[str]:
    """Return the reference table of a recipe's fields, from their declarations."""
    import shoal

    def row(one: Declared) -> str:
        see = f" See {one.param.see}." if one.param.see else ""
        meaning = f"{one.param.description}. {one.param.more}".rstrip() + see
        cells = (f"`{one.name}`", _allowed(one), _default(one), meaning, f"`{one.param.example}`")
        return f"| {' | '.join(cells)} |"

    rows = [row(one) for one in declarations(getattr(shoal, name))]
    head = ["| Field | Type | Default | Meaning | Example |", "|---|---|---|---|---|"]
    return [*head, *rows]


def _parameters_of(name: str) -> list[str]:
    """Return the table of the parameters in a field of recipes, `set`: of scaling, methods, releases and formats."""
    from shoal import registry
    from shoal.points.encoding import Encoding
    from shoal.recipe.fields import NOISE

    assert name == "set"
    fields: set[str] = {"k", "t", "attacker", *NOISE}
    owned: list[tuple[Declared, str]] = [(one, "the scaling of coordinates") for one in declarations(Encoding)]
    for family, folder in (("partition", "methods"), ("release", "releases"), ("io.sinks", "")):
        for key in sorted(registry.built_in(family)):
            cls = registry.load(family, key)
            models = [registry.load("privacy", model) for model in registry.says(family, key, "promises") or ()]
            levels = {one.name for model in models for one in declarations(model)}
            others = fields | levels | {*(registry.says(family, key, "takes") or ())}
            owner = f"[{key}]({folder}/{key}.md)" if folder else f"output to [{key}](files.md)"
            owned += [(one, owner) for one in declarations(cls) if one.name not in others]
    rows: dict[tuple[str, ...], list[str]] = {}
    for one, owner in owned:
        cells = (f"`{one.name}`", _allowed(one), _default(one), one.param.description)
        rows.setdefault(cells, []).append(owner)
    head = ["| Name | Allowed | Default | Meaning | Belongs to |", "|---|---|---|---|---|"]
    return [*head, *(f"| {' | '.join((*cells, ', '.join(owners)))} |" for cells, owners in rows.items())]


def _default(one: Declared) -> str:
    if one.required or one.param.usual:
        return "required" if one.required else one.param.usual
    shown = {str: f'`"{one.default}"`', bool: f"`{str(one.default).lower()}`"}.get(type(one.default), one.default)
    return "none" if one.default in (None, (), {}) else str(shown)


def _allowed(one: Declared) -> str:
    options = [choice for kind in alternatives(one.kind) for choice in typing.get_args(kind) if isinstance(choice, str)]
    listed = one.choices if isinstance(one.param.choices, tuple) and not one.param.words else ()
    return ", ".join(f'`"{choice}"`' for choice in (*listed, *options)) or (
        "a name" if one.param.choices and not one.param.words else one.allowed
    )


@dataclass
class Typed:
    """A command of a console block: as shown, as one line, and what the page shows below it."""

    shown: str
    command: str
    below: list[str] = field(default_factory=list)


def _session(body: str, reader: Reader) -> str:
    """Return a console block with what its commands print; blocks that show no output stay without."""
    session = _commands(body)
    silent = not any(typed.below for typed in session)
    lines = []
    for typed in session:
        lines.append(typed.shown)
        command = _MEANS.get(typed.command, typed.command)
        if reader.skips(command):
            lines += typed.below
            continue
        printed = _tidy(reader.type(command))
        if not silent:
            lines.append(_shortened(printed, typed.below))
    return "".join(lines)


def commands(text: str) -> list[Typed]:
    """Return the commands of all console blocks of a page."""
    return [
        typed for fence in _FENCE.finditer(text) if fence["info"] == "console" for typed in _commands(fence["body"])
    ]


def _commands(body: str) -> list[Typed]:
    found: list[Typed] = []
    for line in body.splitlines(keepends=True):
        if found and found[-1].command.endswith("\\"):
            found[-1].shown += line
            found[-1].command = found[-1].command.removesuffix("\\") + line.strip()
        elif line.startswith("$ "):
            found.append(Typed(line, line[2:].strip()))
        else:
            found[-1].below.append(line)
    return found


def _shortened(printed: str, below: list[str]) -> str:
    """Omit what the page omits: a part after a lone ``…`` begins where its first line is printed."""
    if _CUT not in below:
        return printed
    lines = printed.splitlines(keepends=True)
    parts: list[list[str]] = [[]]
    for line in below:
        parts.append([]) if line == _CUT else parts[-1].append(line)
    kept, at = lines[: len(parts[0])], len(parts[0])
    for number, part in enumerate(parts[1:], 2):
        kept.append(_CUT)
        if part:
            at = lines.index(part[0], at)
            end = len(lines) if number == len(parts) else at + len(part)
            kept, at = kept + lines[at:end], end
    return "".join(kept)


def _shoal(arguments: Sequence[str]) -> int:
    from shoal.cli import main

    try:
        main(list(arguments))
    except SystemExit as done:
        return int(done.code or 0)
    return 0


@contextlib.contextmanager
def _printed() -> Iterator[io.StringIO]:
    """Collect what is printed on both streams, on a page 80 characters wide and without colours."""
    text = io.StringIO()
    before = {name: os.environ.get(name) for name in ("COLUMNS", "NO_COLOR", "TERM")}
    os.environ.update(COLUMNS="80", NO_COLOR="1", TERM="dumb")
    try:
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            yield text
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)


@contextlib.contextmanager
def _at(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _tidy(printed: str) -> str:
    """Return a text without progress lines, blanks at the ends of lines, and empty lines around it."""
    lines = "\n".join(line.rstrip() for line in printed.splitlines() if not _PROGRESS.match(line)).strip("\n")
    return f"{lines}\n" if lines else ""


def main() -> None:
    """Rewrite the outputs on all pages, or on those that are named."""
    for page in [Path(name).resolve() for name in sys.argv[1:]] or pages():
        before = page.read_text(encoding="utf-8")
        if reason := lacks(before):
            print(f"{page.relative_to(HOME)}: skipped, because {reason}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            after = rewritten(before, Path(folder))
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.relative_to(HOME)}: outputs written")


if __name__ == "__main__":
    main()
