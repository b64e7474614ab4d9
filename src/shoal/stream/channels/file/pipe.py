"""A link to a pipe: what leaves is written, and nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from shoal.stream.channels.file.input import Input
from shoal.stream.channels.file.output import Growing, Pipe, letter, make_way
from shoal.types.stream import Cursor, Incoming, Journey, Outgoing


class PipeLink:
    """Records of a file or pipe, and a pipe for what leaves; nothing is kept."""

    def __init__(self, given: Input, journey: Journey) -> None:
        self._input = given
        self.header = given.header  #: the first record, if it names the fields
        self.cursor = Cursor()
        self.finished = False  #: whether the stream is over, and all of it has left
        self._preface = b""
        self._untouched = True  # nothing has left yet
        with ExitStack() as undo:
            self._out: Pipe | Growing = Pipe(journey.target)
            undo.callback(self._out.close)
            self._dead = self._letters(journey, undo, begins=True)
            self._undo = undo.pop_all()

    def _letters(self, journey: Journey, undo: ExitStack, *, begins: bool) -> Growing | None:
        """Open the file of dead letters."""
        if journey.dead is None:
            return None
        if begins:
            undo.callback(make_way(Path(journey.dead), journey.force))
        made = Growing(Path(journey.dead))
        undo.callback(made.discard)
        return made

    def preface(self, line: bytes) -> None:
        """Let a line stand before the first tuple."""
        self._preface = line + b"\n" if line else b""

    def lanes(self) -> Mapping[str, Cursor]:
        """There is one lane, and it has no name."""
        return {"": self.cursor}

    def fetch(self, most: int, seconds: float) -> Incoming | None:
        """Return records, or None if none came in time."""
        records, places = self._input.fetch(most, seconds)
        over = self._input.over
        return Incoming("", records, places, self._input.after, over) if records or over else None

    def commit(self, steps: Sequence[Outgoing]) -> None:
        """Write what leaves, and then the letters."""
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
        """Let go of everything; what nothing came of is as it was before."""
        self._input.close()
        if self._untouched:
            self._undo.close()
            return
        self._out.close()
        if self._dead is not None:
            self._dead.close()
