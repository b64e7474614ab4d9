"""Torture over files: JSON Lines from one file to another."""

from __future__ import annotations

from pathlib import Path


class Arena:
    """Where a stream is tortured. Another channel is another file with a class of this name."""

    ends = True  #: whether the stream comes to an end; else `settled` says when all has left that will

    def __init__(self, folder: Path, records: list[bytes]) -> None:
        self._folder = folder
        (folder / "in.jsonl").write_bytes(b"".join(record + b"\n" for record in records))

    @property
    def source(self) -> str:
        """What `shoal stream` reads."""
        return str(self._folder / "in.jsonl")

    @property
    def target(self) -> str:
        """Where it writes."""
        return str(self._folder / "out.jsonl")

    @property
    def dead(self) -> str:
        """Where dead letters go."""
        return str(self._folder / "dead.jsonl")

    def released(self) -> list[bytes]:
        """What anybody can see of the output by now, in order; a line that is not whole yet is left out."""
        return self._lines("out.jsonl")

    def letters(self) -> list[bytes]:
        """The same of the dead letters."""
        return self._lines("dead.jsonl")

    def _lines(self, name: str) -> list[bytes]:
        path = self._folder / name
        return path.read_bytes().split(b"\n")[:-1] if path.exists() else []

    def settled(self) -> bool:
        """Whether all has left that will, for a stream without an end."""
        return True

    def close(self) -> None:
        """Take away what was set up."""
