"""Terminal output: tables for people, JSON for programs, a bar for long work."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from shoal import progress, registry
from shoal.cli._echo import echo, harmless
from shoal.errors import EngineError
from shoal.memory import gigabytes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.table import Table

    from shoal.types import (
        Attempts,
        Audit,
        Certificate,
        Finding,
        Ledger,
        Partition,
        Planned,
        Reading,
        Readings,
        Schema,
        Unchanged,
        Verification,
    )


_NARROW = 60  # columns of a terminal, below which tables are stacked
_WORDS = (24, 12)  # characters of a word that are kept on one line, if there is room; fewer before a table is stacked
_NAMED = 4  # maximum number of columns that are named one by one
_FATES = {"identifier": "not at all", "subject": "not at all"}


def console() -> Console:
    """Return the console of standard output; column names are not markup."""
    from rich.console import Console

    class Output(Console):
        """A console that leaves a closed pipe to the command."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Output(markup=False, highlight=False, soft_wrap=not sys.stdout.isatty())


def print_table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str] | None],
    *,
    right: Collection[int] = (),
    whole: Collection[int] = (),
    widths: Sequence[int] = (),
) -> None:
    """Print a table; a row that is None ends a section. Nothing is truncated.

    Below 60 columns, and without room for 12 characters of each word, print each row as a list instead. Columns by
    position: `right` are right-aligned, `whole` never wrapped, and `widths` are minimum widths.
    """
    from rich.table import Table

    screen, lines = console(), [row and [harmless(cell) for cell in row] for row in rows]
    cells = [[row[at] for row in lines if row is not None and at < len(row)] for at in range(len(heads))]
    for most in _WORDS:
        least = [
            max(_longest(head), *(len(cell) if at in whole else min(_longest(cell), most) for cell in cells[at]), 0)
            for at, head in enumerate(heads)
        ]
        least = [max(pair) for pair in zip(least, widths or least, strict=True)]
        if screen.width >= max(_NARROW, 1 + sum(3 + width for width in least)):
            break
    else:
        _print_stacked(screen, title, heads, lines)
        return
    table = Table(*heads, title=title, title_justify="left")
    for at, column in enumerate(table.columns):
        column.justify = "right" if at in right else "left"
        column.overflow = "fold"
        column.no_wrap = at in whole or max(map(len, (heads[at], *cells[at]))) <= least[at]
        column.min_width = least[at]
    for row in lines:
        if row is None:
            table.add_section()
        else:
            table.add_row(*row)
    _fit(table, screen, least, [(head, *some) for head, some in zip(heads, cells, strict=True)])
    screen.print(table)


def _fit(table: Table, screen: Console, least: Sequence[int], cells: Iterable[Sequence[str]]) -> None:
    """Set the widths of columns where rich makes the table too wide, because it widens narrow columns last."""
    from rich.segment import Segment

    if max(map(Segment.get_line_length, Segment.split_lines(screen.render(table)))) > screen.width:
        most = [max(len(line) for cell in some for line in cell.split("\n")) for some in cells]
        for column, width in zip(table.columns, _fitted(screen.width - 1, least, most), strict=True):
            column.width = width


def _fitted(room: int, least: Sequence[int], most: Sequence[int]) -> list[int]:
    """Return widths of columns that fill the room: their least widths, and equal shares of what is left.

    >>> _fitted(30, [4, 5, 5], [4, 7, 90])
    [4, 7, 10]
    """
    found, spare = list(least), room - sum(3 + width for width in least)
    wanting = sorted(range(len(least)), key=lambda at: most[at] - least[at])
    for done, at in enumerate(wanting):
        more = max(0, min(most[at] - least[at], spare // (len(wanting) - done)))
        found[at] += more
        spare -= more
    return found


def _longest(text: str) -> int:
    """Return the length of the longest word."""
    return max(map(len, text.split()), default=0)


def _print_stacked(screen: Console, title: str, heads: Sequence[str], rows: Iterable[Sequence[str] | None]) -> None:
    """Print each row as its first cell, and below it every other cell beside its head."""
    from rich.padding import Padding
    from rich.table import Table

    screen.print(title, style="italic", soft_wrap=False)
    names = [" ".join(head.split()) for head in heads]
    for row in rows:
        if row is None:
            continue
        screen.print(row[0] or names[0], soft_wrap=False)
        grid = Table.grid(padding=(0, 1))
        grid.add_column(overflow="fold", max_width=screen.width // 3)
        grid.add_column(overflow="fold")
        for name, cell in zip(names[1:], row[1:], strict=False):
            if cell.strip():
                grid.add_row(name, cell)
        if grid.row_count:
            screen.print(Padding(grid, (0, 0, 0, 2), expand=False))
    screen.print()


def shortened(rows: Sequence[Sequence[str]], most: int = 40) -> Sequence[Sequence[str]]:
    """Return the first rows of a table, and how many more there are."""
    return rows if len(rows) <= most else [*rows[:most], (f"… {len(rows) - most:,} more",)]


def print_json(values: dict[str, Any]) -> None:
    """Print one JSON object and nothing else."""
    typer.echo(json.dumps(_finite(values), ensure_ascii=False, allow_nan=False))


def _finite(value: Any) -> Any:
    """Return values that JSON can hold: non-finite numbers become null."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def summary_of(output: str) -> Iterator[None]:
    """If standard output fails, say that only the summary was lost: the output exists by now."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, AttributeError):
        sys.stdout = None  # otherwise the interpreter complains again at exit
        raise EngineError(f"{output}: was written and audited, but the summary could not be printed.") from None


def print_schema(
    schema: Schema,
    partition: Partition,
    release: str,
    weight: str = "record",
    recoded: Collection[str] = (),
    pseudonym: str | None = None,
) -> None:
    """Print the role and kind of each column, and how it is released."""
    made = {name for block in partition.blocks if block.values is not None for name in block.attributes}
    made_by = registry.load("release", release)
    known = {
        **_FATES,
        "quasi": made_by.fate,
        "confidential": made_by.fate_of_confidential,
    }
    if not made_by.two_tables:
        known["weight"] = {"class": "mean of its class", "none": "removed"}.get(weight, "as it is")
    if "strata were merged" in partition.note:
        known["strata"] = "as it is; merged ones as one"
    fates = {c.name: known.get(c.role, "as it is") for c in schema.columns}
    fates |= {} if pseudonym is None else {pseudonym: "random pseudonym"}
    fates |= dict.fromkeys(made, "as the method computes it")
    fates |= {name: f"{'recoded' if fates[name] == 'as it is' else f'recoded; {fates[name]}'}" for name in recoded}
    rows = [(c.name, c.role.value, c.kind.value, fates[c.name]) for c in schema.columns]
    print_table("Columns", ("Column", "Role", "Kind", "Released as"), shortened(rows))


def print_plan(planned: Planned, notes: Sequence[str]) -> None:
    """Print what a run would do, why it would be refused, and how long it would take."""
    rows = [(c.name, c.role.value, c.kind.value, planned.columns.get(c.name, "")) for c in planned.schema.columns]
    print_table("Columns", ("Column", "Role", "Kind", "Found"), shortened(rows))
    if planned.decisions:
        print_table("Plan", ("Topic", "Decision"), planned.decisions)
    for note in notes:
        echo(note)
    if planned.left_out:
        echo(f"{planned.left_out:,} records lack a quasi-identifier and would be excluded.")
    if planned.suppressed:
        echo(f"{planned.suppressed:,} records would cost the most and would be suppressed.")
    if planned.refusals:
        echo(f"The run would be refused for {len(planned.refusals)} reason{'s' * (len(planned.refusals) > 1)}:")
        for sentence in planned.refusals:
            echo(f"- {sentence}")
    elif planned.seconds is not None and planned.wall_seconds is not None:
        echo(
            f"{planned.records:,} records. This takes {_about(planned.wall_seconds)}{_of_disk(planned.disk)} on this "
            f"machine, and {_about(planned.seconds)} of processor time."
        )
    echo("Nothing was written.")


_LONG = 2.0  # seconds above which a run says before it starts how long it takes, on a terminal …
_LONG_IN_A_PIPE = 10.0  # … and elsewhere


def _about(seconds: float) -> str:
    """Return a time rounded for people.

    >>> [_about(seconds) for seconds in (0.2, 7.3, 42.3, 500.0, 9000.0)]
    ['less than a second', 'about 7 seconds', 'about 40 seconds', 'about 8 minutes', 'about 2.5 hours']
    """
    if seconds < 1:
        return "less than a second"
    if seconds < 90:
        whole = round(seconds) if seconds < 15 else 5 * round(seconds / 5)
        return f"about {whole} second{'s' * (whole > 1)}"
    return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.2g} hours"


def _of_disk(size: int) -> str:
    """Return the disk space of a run in words.

    >>> _of_disk(2_140_000_000), _of_disk(0)
    (' and 2.1 GB of disk', '')
    """
    return f" and {gigabytes(size)} of disk" if size else ""


def print_audit(audit: Audit) -> None:
    """Print the findings of the audit: requirements line by line, other levels in a separate table."""
    reported = list(audit.reported)
    asked = [f for f in audit.findings if f.confidential is None or f.required is not None or not f.promised]
    heads = ("Model", "Over", "Required", "Achieved", "Classes", "Verdict")
    rows = [(f.model, _over(f, audit.quasi), *f.levels, f"{f.classes:,}", _verdict(f)) for f in asked]
    print_table("Audit", heads, rows, whole=(5,))
    if reported:
        _print_reported(reported)
    for finding in asked:
        if not finding.holds:
            echo(_worst(finding))
    for name, value in audit.overall.found:
        if name == "weighted_k":
            echo(f"By sampling weights, the smallest class stands for {value:,.6g}.")
    for note in _notes(audit):
        echo(note)
    print_sentences(audit)


def print_sentences(audit: Audit) -> None:
    """Print what someone who has the table could learn about a person, a line each; the worst case first."""
    echo("What an attacker could learn:")
    for sentence in (*audit.sentences, *([] if audit.attacker is None else [audit.attacker.sentence])):
        echo(f"- {sentence}")


def _print_reported(findings: list[Finding]) -> None:
    """Print the levels of confidential columns without requirements: a row per column."""
    shorts = {finding.short: _given(finding) for finding in findings}
    heads = [f"{short} ({given})" if given else short for short, given in shorts.items()]
    widths = [0, *(max(map(len, head.split())) for head in heads)]  # a level without its name would be meaningless
    rows = []
    for name in dict.fromkeys(str(finding.confidential) for finding in findings):
        found = {finding.short: finding.levels[1] for finding in findings if finding.confidential == name}
        rows.append((name, *(found.get(short, "") for short in shorts)))
    print_table("Reported of confidential columns", ("Column", *heads), rows, widths=widths)


def print_unchanged(found: Unchanged | None, schema: Schema) -> None:
    """Print the records made unique by unchanged columns: each column within its class, and all jointly."""
    if found is None or not found.columns:
        return
    if found.in_class is not None:
        rows = [
            (name, schema[name].role.value, "yes" if name in found.reviewed else "no", f"{unique:,}",
             f"{100 * unique / found.records:.1f} %")
            for name, unique in found.in_class
        ]  # fmt: skip
        heads = ("Column", "Role", "Reviewed", "Unique within class", "Share")
        print_table("Columns released unchanged", heads, shortened(rows), right=(3, 4))
    for sentence in found.figures:
        echo(sentence)


def _given(finding: Finding) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in finding.given)


def _over(finding: Finding, quasi: tuple[str, ...]) -> str:
    over = _short(finding.attributes, quasi)
    if finding.confidential is None:
        return over
    given = _given(finding)
    return f"{finding.confidential} given {over}{f' ({given})' if given else ''}"


def _worst(finding: Finding) -> str:
    listed = ", ".join(f"class {number} ({level:.6g})" for number, level in finding.worst)
    if finding.confidential is None:
        return f"The worst, in order of their first rows: {listed}."
    return f"The worst in {finding.confidential}, numbered in order of their first rows: {listed}."


def _notes(audit: Audit) -> list[str]:
    """Return the notes for the reader, each once, with the findings that share it."""
    sharing: dict[tuple[str, str], list[Finding]] = {}
    for finding in audit.findings:
        if finding.note:
            sharing.setdefault((finding.model, finding.note), []).append(finding)
    return [_note(found, audit) for found in sharing.values()]


def _note(found: list[Finding], audit: Audit) -> str:
    model, note = found[0].model, found[0].note
    if found[0].confidential is not None:
        return f"{model} of {', '.join(dict.fromkeys(str(f.confidential) for f in found))}: {note}."
    if len(found) > 1 and len(found) == sum(f.model == model for f in audit.findings):
        return f"{model}: {note}."
    return f"{model} over {'; over '.join(', '.join(f.attributes) for f in found)}: {note}."


def _verdict(finding: Finding) -> str:
    if not finding.promised:
        return "not promised"
    if finding.required is None:
        return "reported"
    return "holds" if finding.holds else "DOES NOT HOLD"


def _short(attributes: tuple[str, ...], quasi: tuple[str, ...]) -> str:
    """Name columns in few words; if they include all quasi-identifiers, only the others are named."""
    if len(attributes) <= _NAMED:
        return ", ".join(attributes)
    if len(quasi) >= _NAMED and attributes[: len(quasi)] == quasi:
        return ", ".join([f"all {len(quasi)} quasi", *attributes[len(quasi) :]])
    return f"{', '.join(attributes[:_NAMED])} and {len(attributes) - _NAMED} more"


def print_losses(readings: Readings) -> None:
    """Print the losses of a release for its publisher, with 3 significant digits."""
    _print_readings(readings, lambda reading: f"{reading.value:,.6g} {reading.unit}".rstrip())


def print_readings(readings: Readings) -> None:
    """Print losses and risks; undefined readings get a line each, with the reason."""
    _print_readings(readings, _figure)
    for remark in readings.remarks:
        echo(remark)
    if readings.sample is not None:
        exact = [reading.name for reading in readings.readings if reading.name in ("sse", "il_sse")]
        exception = f" {' and '.join(exact).capitalize()} count all records." if exact else ""
        echo(readings.sample.sentence + exception)


def _figure(reading: Reading) -> str:
    return f"{reading.value:.3f} {reading.unit}" if reading.unit else f"{reading.value:,.6g}"


def _print_readings(readings: Readings, written: Callable[[Reading], str]) -> None:
    for room, title in (("utility", "Loss"), ("risk", "Risk")):
        found = [r for r in readings.readings if r.measure in registry.keys(room) and not math.isnan(r.value)]
        if found:
            rows = [(reading.name, written(reading), _meaning(room, reading)) for reading in found]
            print_table(title, ("Measure", "Value", "What it is"), rows)


def _meaning(room: str, reading: Reading) -> str:
    if reading.name.endswith("_partition"):
        return "The same for the partition, with exact means, before rounding."
    if reading.name.endswith("_recoding"):
        return "The part that recoding alone loses, before classes are formed."
    words = registry.summary(room, reading.measure)
    return f"{words.partition(':')[0]}: {reading.attacked}." if reading.attacked else words


def print_attempts(found: Attempts) -> None:
    """Print what each attack learns and about how many people, compared with guessing; then how many succeeded."""
    words = {"succeeded": "SUCCEEDED", "not_run": "not run"}
    rows = [(one.attack, words.get(one.verdict, one.verdict), one.sentence) for one in found]
    print_table("Attacks", ("Attack", "Verdict", "What an attacker learns"), rows, whole=(0, 1))
    tried = sum(one.verdict != "not_run" for one in found)
    named = f": {', '.join(one.attack for one in found.succeeded)}" if found.succeeded else ""
    echo(f"{len(found.succeeded)} of {tried} attacks succeeded{named}." if tried else "No attack was run.")
    if found.sample is not None:
        echo(found.sample.sentence)


def print_certificate(certificate: Certificate) -> None:
    """Print the bound on the partition's distance from the optimum, with 3 significant digits."""
    found = certificate.printed
    rows = [
        ("reached", f"{found['sse']:,.6g}", f"{found['il']:.6g} %"),
        ("no partition is below", f"{found['sse_bound']:,.6g}", f"{found['il_bound']:.6g} %"),
    ]
    print_table(f"Certificate: classes of at least {certificate.k} records", ("", "SSE", "IL"), rows)
    echo(f"Another partition could save at most {found['gap']:.6g} % of the loss.")
    echo(f"How the bound was obtained: {'; '.join(certificate.how)}.")


def print_ledger(ledger: Ledger) -> None:
    """Print how ε was spent, and the noise generator; the audit's notes explain the meaning of ε."""
    title = f"Budget: ε = {ledger.total:g}, claimed for {ledger.claim} records"
    if not ledger.private:
        title = f"Budget: NOT PRIVATE, ε would be {ledger.total:g}"
    heads = ("Block", "Attribute", "ε", "Sensitivity", "Scale of noise", "Classes")
    rows = [row for line in ledger.lines for row in (line.cells, *([None] if line.entry is None else []))]
    print_table(title, heads, rows)
    echo(f"Noise from {ledger.noise}. How ε adds up: {ledger.composition}.")


def print_verification(found: Verification) -> None:
    """Print the promises, each claim with its verdict, and the overall verdict."""
    from shoal.types import Verdict

    echo(found.promise)
    loud = (Verdict.FAILS, Verdict.NOT_PROMISED)
    rows = [(c.claim, c.verdict.upper() if c.verdict in loud else c.verdict.value, c.why) for c in found.checks]
    print_table("Verification", ("Claim", "Verdict", "Why"), rows, whole=(1,))
    count = len(found.unchecked)
    unchecked = f" {count} claim{'s' * (count > 1)} cannot be checked from the output." if count else ""
    if found.holds:
        echo(f"{found.output}: everything that can be checked holds.{unchecked}")
    elif not found.failed:
        names = "; ".join(check.claim for check in found.unverified)
        echo(f"{found.output}: everything that can be checked holds, but not everything is verified: {names}.")
    else:
        verb = "does" if len(found.failed) == 1 else "do"
        echo(f"{found.output}: {len(found.failed)} of {len(found.checks)} claims {verb} not hold.{unchecked}")


class Bar:
    """Shows the progress of work as a bar with the time left."""

    def __init__(self, bar: Progress) -> None:
        self.bar = bar
        self.task: TaskID | None = None
        self.shown = 0.0

    def stage(self, name: str) -> None:
        """Start a new line of the bar."""
        if self.task is not None:
            self.bar.remove_task(self.task)
        self.task = self.bar.add_task(name, total=None)

    def report(self, done: int, total: int) -> None:
        """Move the bar, at most ten times a second."""
        now = time.monotonic()
        if self.task is not None and (now - self.shown > 0.1 or done >= total):
            self.shown = now
            self.bar.update(self.task, completed=done, total=total)

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.bar.console.print(harmless(text), markup=False, highlight=False)

    def finished(self, text: str) -> None:
        """Ignore it: the bar shows how much is done."""

    def expect(self, seconds: float, disk: int = 0) -> None:
        """Print how long the work takes, and the disk space, unless that is short."""
        if seconds > _LONG:
            self.say(f"This takes {_about(seconds)}{_of_disk(disk)}.")


@dataclass(frozen=True)
class Pipe:
    """Says on standard error how long the work takes, where no bar can be drawn; on request, what has finished."""

    lines: bool  #: whether messages and finished parts are printed

    def stage(self, name: str) -> None:
        """Ignore stages, which are short."""

    def report(self, done: int, total: int) -> None:
        """Ignore it: a finished part has its line."""

    def say(self, text: str) -> None:
        """Print a message."""
        self.finished(text)

    def finished(self, text: str) -> None:
        """Print a line."""
        if self.lines:
            _on_standard_error(text)

    def expect(self, seconds: float, disk: int = 0) -> None:
        """Print how long the work takes, and the disk space, unless that is short."""
        if seconds > _LONG_IN_A_PIPE:
            _on_standard_error(f"This takes {_about(seconds)}{_of_disk(disk)}.")


def _on_standard_error(text: str) -> None:
    with suppress(OSError):  # a closed standard error must not stop the work
        echo(text, err=True)


@contextmanager
def progress_bar(*, quiet: bool = False, lines: bool = False) -> Iterator[None]:
    """Show progress on a terminal; in a pipe, how long the work takes, and `lines` on request; if quiet, nothing."""
    if quiet:
        yield
        return
    if sys.stderr is None or not sys.stderr.isatty():
        with progress.listening(Pipe(lines)):
            yield
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<10}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar, progress.listening(Bar(bar)):
        yield
