"""Files and pipes: JSON Lines or CSV in, the same out; a journal lets a stream resume after a crash."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from shoal.stream.channels._file_input import Bytes, Handle, Input, Made
from shoal.stream.channels._file_journal import Base, Journal, Step
from shoal.stream.channels._file_output import (
    Growing,
    Pipe,
    check_apart,
    check_promises,
    is_pipe,
    kept,
    letter,
    make_way,
    writing,
)
from shoal.types.stream import Channel, Cursor, Incoming, Journey, Link, Outgoing


class PipeLink(Link):
    """Records from a file or pipe, and a pipe for the output; no state is kept."""

    def __init__(self, given: Input, journey: Journey) -> None:
        self._input = given
        self.header = given.header  #: the first record, if it names the fields
        self.cursor = Cursor()
        self.finished = False  #: whether the stream has ended and all output is released
        self._preface = b""
        self._untouched = True  # nothing is released yet
        with ExitStack() as undo:
            self._out: Pipe | Growing = Pipe(journey.target)
            undo.callback(self._out.close)
            self._dead = self._letters(journey, undo, begins=True)
            self._undo = undo.pop_all()

    def _letters(self, journey: Journey, undo: ExitStack, *, begins: bool) -> Growing | None:
        """Open the dead-letter file."""
        if journey.dead is None:
            return None
        if begins:
            undo.callback(make_way(Path(journey.dead), journey.force))
        made = Growing(Path(journey.dead))
        undo.callback(made.discard)
        return made

    def preface(self, line: bytes) -> None:
        """Write a line before the first tuple."""
        self._preface = line + b"\n" if line else b""

    def lanes(self) -> Mapping[str, Cursor]:
        """Return the only lane, which has no name."""
        return {"": self.cursor}

    def fetch(self, most: int, seconds: float) -> Incoming | None:
        """Return records, or None if none arrived in time."""
        records, places = self._input.fetch(most, seconds)
        over = self._input.over
        return Incoming("", records, places, self._input.after, over) if records or over else None

    def commit(self, steps: Sequence[Outgoing]) -> None:
        """Write the output, then the dead letters."""
        for step in steps:
            out, dead = self._rendered(step)
            self._untouched = False
            self._out.append(out)
            if self._dead is not None:
                self._dead.append(dead)
            self._stepped(step)

    def _rendered(self, step: Outgoing) -> tuple[bytes, bytes]:
        lines = [line for leaving in step.classes for line in leaving.tuples]
        out = self._preface + (b"\n".join(lines) + b"\n" if lines else b"")
        return out, b"" if self._dead is None else b"".join(map(letter, step.letters))

    def _stepped(self, step: Outgoing) -> None:
        self._preface = b""
        self.cursor = step.cursor
        self.finished = self._ends(step)

    def _ends(self, step: Outgoing) -> bool:
        return self._input.over and step.cursor.place >= self._input.after

    def close(self) -> None:
        """Close everything; undo what was prepared if nothing was released."""
        self._input.close()
        if self._untouched:
            self._undo.close()
            return
        self._out.close()
        if self._dead is not None:
            self._dead.close()


_ROTATE = 1 << 23  # journal size in bytes from which a new file is started


class Files(Channel):
    """Files and pipes.

    The journal is a folder next to the output, ``OUT.journal``. The output of each step is written there first, with
    the dead letters and the cursor, and only then to the output file. After a crash the last steps are completed from
    it.

    **Guarantee.** Even across crashes, every byte of the output was in the journal first, no byte of it is ever
    replaced, and a step is in the output whole, or will be after the next start.

    Standard output and other pipes have no journal: such a stream starts from the beginning every time.
    """

    def open(self, journey: Journey) -> Link:
        """Return a link; refuse a journey whose promises differ from those it was started with."""
        source: Bytes = Handle(journey.source) if journey.feed is None else Made(journey.feed)
        with ExitStack() as undo:
            undo.callback(source.close)
            check_apart(source.number, journey.target, journey.dead)
            given = Input(
                source, _name(journey.source), longest=journey.longest, header=journey.header, quote=journey.quote
            )
            link = _FileLink(given, journey) if not is_pipe(journey.target) else PipeLink(given, journey)
            undo.pop_all()
        return link


class _FileLink(PipeLink):
    """Records from a file or pipe, and an append-only file with a journal."""

    def __init__(self, given: Input, journey: Journey) -> None:
        self._input, self._preface = given, b""
        self.header = given.header
        path = Path(os.path.realpath(journey.target))
        self._journal = Journal(path.with_name(f"{path.name}.journal"))
        with writing(journey.target):
            begins = not self._journal.there
        with ExitStack() as undo:
            if begins:
                undo.callback(make_way(Path(journey.target), journey.force))
            self._out: Growing = Growing(path, journey.target)  # from here on, no other process uses the journal
            undo.callback(self._out.discard)
            self._dead = self._letters(journey, undo, begins=begins)
            with writing(str(self._journal.folder)):
                found = self._journal.read()
            self._untouched = found is None
            found = found or self._begin(journey)
            undo.callback(self._journal.close)
            check_promises(journey, found[0].promises)
            self._restore(*found)
            if self.cursor.place or self.finished:
                given.skip(self.cursor.place, self._digest)
            self._undo = undo.pop_all()

    def _begin(self, journey: Journey) -> tuple[Base, list[Step]]:
        """Write the base of a new stream."""
        base = Base(journey.fingerprint, kept(journey), Cursor(), digest=self._input.digest(0))
        with writing(str(self._journal.folder)):
            self._journal.folder.mkdir(exist_ok=True)
            self._journal.begin(base)
        return base, []

    def _restore(self, base: Base, steps: list[Step]) -> None:
        """Complete the files from the journal."""
        last = steps[-1] if steps else base
        self.cursor, self._digest, self.finished = last.cursor, last.digest, last.finished
        self._base, self._steps = base, bool(steps)
        self._out.restore(base.out, b"".join(step.out for step in steps))
        if self._dead is not None:
            self._dead.restore(base.dead, b"".join(step.dead for step in steps))

    def preface(self, line: bytes) -> None:
        """Write a line before the first tuple, unless it is there already."""
        self._preface = line + b"\n" if line and not self._out.size else b""

    def fetch(self, most: int, seconds: float) -> Incoming | None:
        """Return records, or None if none arrived in time.

        A finished stream has no cursor; its input must be the one it was finished with.
        """
        if self.finished:
            same = self._input.ends_as_before(seconds)
            return Incoming("", (), (), self.cursor.place, True) if same else None
        return super().fetch(most, seconds)

    def commit(self, steps: Sequence[Outgoing]) -> None:
        """Write output to the journal first, then to the output file."""
        for step in steps:
            out, dead = self._rendered(step)
            digest = self._input.digest(step.cursor.place)
            self._untouched, self._steps = False, True
            with writing(str(self._journal.folder)):
                self._journal.append(Step(out, dead, step.cursor, digest, self._ends(step)))
            self._out.append(out)
            if self._dead is not None:
                self._dead.append(dead)
            self._stepped(step)
            self._digest = digest
            if self._journal.size > _ROTATE:
                self._rotate()

    def _rotate(self) -> None:
        """Continue in a new journal file, once all output is on disk."""
        self._out.sync()
        if self._dead is not None:
            self._dead.sync()
        sizes = {"out": self._out.size, "dead": 0 if self._dead is None else self._dead.size}
        now = {"cursor": self.cursor, "digest": self._digest, "finished": self.finished}
        with writing(str(self._journal.folder)):
            self._journal.begin(msgspec.structs.replace(self._base, **sizes, **now))

    def close(self) -> None:
        """Close everything; a finished stream keeps only a final journal entry, and an empty one no journal."""
        if self._untouched:
            self._journal.remove()
            super().close()
            return
        if self.finished and self._steps:
            self._rotate()
        self._journal.close()
        super().close()


def _name(path: str) -> str:
    return "Standard input" if path == "-" else path
