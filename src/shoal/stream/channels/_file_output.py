"""Stream output: an append-only file with a journal, or a pipe without one."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from shoal.errors import DataError, EngineError, ParameterError, listing
from shoal.scratch import unwritable
from shoal.stream.channels._file_journal import sync_folder, write_all
from shoal.types.stream import Journey, Letter

_AGAIN = "and run it again: it continues where it stopped"


class Pipe:
    """Standard output or another pipe: bytes written to it cannot be taken back, and it cannot be resumed."""

    def __init__(self, path: str) -> None:
        self.name = "Standard output" if path == "-" else path
        with writing(self.name):
            self._own = path != "-"
            self.number = os.open(path, os.O_WRONLY) if self._own else sys.stdout.fileno()

    def append(self, data: bytes) -> None:
        """Write bytes."""
        with writing(self.name):
            write_all(self.number, data)

    def sync(self) -> None:
        """Do nothing: a pipe has no disk."""

    def close(self) -> None:
        """Close the pipe if it was opened here."""
        if self._own:
            os.close(self.number)


class Growing:
    """An append-only file, locked against other writers.

    **Guarantee.** No byte in the file is ever changed or removed.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path = path
        self.name = name or str(path)  #: as shown in messages
        self._created = not path.exists()
        with writing(self.name):
            self.number = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            sync_folder(path.parent)
        try:
            fcntl.flock(self.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(self.number), os.stat(path)):  # the file was deleted before it was locked
                raise OSError
        except OSError:
            os.close(self.number)
            raise ParameterError(
                f"{self.name}: another run is writing to it. Wait for it, or choose another output."
            ) from None
        self.size = os.fstat(self.number).st_size

    def append(self, data: bytes) -> None:
        """Append bytes.

        Raises
        ------
        DataError
            If another process wrote to, truncated or deleted the file in the meantime; then nothing is written.
        """
        if data:
            with writing(self.name):
                now = os.fstat(self.number)
                os.lseek(self.number, self.size, os.SEEK_SET)
            if now.st_size != self.size or not now.st_nlink:
                raise DataError(
                    f"{self.name}: another program changed, truncated or deleted it. Restore it, or choose another "
                    "output."
                )
            with writing(self.name):
                write_all(self.number, data)
            self.size += len(data)

    def restore(self, begin: int, data: bytes) -> None:
        """Make the file end with `data`, which begins at byte `begin`: append what is missing of it.

        Raises
        ------
        DataError
            If the file is shorter than `begin`, longer than the end of `data`, or holds something else in between.
        """
        if self.size < begin:
            raise DataError(
                f"{self.name}: has {self.size:,} bytes, but its journal records {begin:,}; some were removed. "
                "Restore the file, or choose another output."
            )
        there = os.pread(self.number, len(data) + 1, begin)
        while 0 < len(there) < min(self.size - begin, len(data) + 1):
            there += os.pread(self.number, len(data) + 1 - len(there), begin + len(there))
        if not data.startswith(there):
            raise DataError(
                f"{self.name}: has bytes that its journal does not record. Remove what was added, or choose another "
                "output."
            )
        self.append(data[len(there) :])

    def sync(self) -> None:
        """Flush everything to disk."""
        with writing(self.name):
            os.fsync(self.number)

    def close(self) -> None:
        """Close the file."""
        os.close(self.number)

    def discard(self) -> None:
        """Close a file that received no output; delete it if it was created here."""
        if self._created and not self.size:
            self.path.unlink(missing_ok=True)
        self.close()


@contextmanager
def writing(name: str) -> Iterator[None]:
    """Turn disk errors inside the block into sentences."""
    try:
        yield
    except BrokenPipeError:
        raise EngineError(
            f"{name}: could not be written (its reader has stopped). Write to a file to be able to continue."
        ) from None
    except OSError as error:
        raise unwritable(name, error, _AGAIN, "this user may not write there") from None
    except (ValueError, AttributeError):  # Python's own error for standard output
        raise EngineError(f"{name}: could not be written (it is closed). Check its destination.") from None


def is_pipe(path: str) -> bool:
    """Tell whether a path is not an append-only file: standard output, a named pipe, a device."""
    if path == "-":
        return True
    try:
        return not (stat.S_ISREG(mode := os.stat(path).st_mode) or stat.S_ISDIR(mode))
    except OSError:
        return False


def check_apart(source: int, target: str, dead: str | None) -> None:
    """Refuse an input that is also the output, or dead letters that are one of them, under any name."""
    if dead is not None and (dead == "-" or is_pipe(dead)):
        raise ParameterError(
            f"{dead}: rejected records must go to a file, got something else. Name one, or leave out --dead: they "
            "are still counted."
        )
    known = {"the input": _identity(source), "the output": _identity(target)}
    for name, given, others in (
        ("output", target, ("the input",)),
        ("rejected records", dead, ("the input", "the output")),
    ):
        mine = None if given is None else _identity(given)
        for other in others:
            if mine is not None and mine == known[other]:
                raise ParameterError(f"{given}: is already {other}; the {name} must go elsewhere. Choose another file.")


def _identity(given: int | str) -> tuple[object, ...] | None:
    """Return an identity that is equal for names of the same file; None for something shareable, or no file."""
    try:
        if given == "-":
            given = sys.stdout.fileno()
        found = os.fstat(given) if isinstance(given, int) else os.stat(given)
    except FileNotFoundError:
        return (os.path.realpath(str(given)),)
    except (OSError, ValueError, AttributeError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def make_way(file: Path, force: bool) -> Callable[[], None]:
    """Refuse an existing file without a journal, or rename it; return a function that undoes the renaming."""
    if not file.is_file() or not file.stat().st_size:
        return lambda: None
    if not force:
        raise ParameterError(f"{file}: already exists, and has no journal. Choose another file, or give --force.")
    real = Path(os.path.realpath(file))  # the target of a link, not the link
    with writing(str(file)):
        aside = _set_aside(real)
        sync_folder(real.parent)

    def undo() -> None:
        if not real.exists():
            with writing(str(file)):
                os.rename(aside, real)

    return undo


def _set_aside(real: Path) -> Path:
    """Rename a file to an unused name, so that files set aside earlier are kept."""
    names = (real.with_name(f"{real.name}.old{number if number > 1 else ''}") for number in count(1))
    aside = next(name for name in names if not os.path.lexists(name))
    os.rename(real, aside)
    return aside


def kept(journey: Journey) -> dict[str, Any]:
    """Return the promises that must not change when a stream is resumed."""
    return {**journey.promises, "header": journey.header, "longest": journey.longest, "dead": journey.dead is not None}


def check_promises(journey: Journey, before: Mapping[str, Any]) -> None:
    """Refuse to resume with promises other than those the stream was started with."""
    mine = msgspec.json.decode(msgspec.json.encode(kept(journey)))
    theirs = msgspec.json.decode(msgspec.json.encode(before))
    others = [name for name in {**theirs, **mine} if mine.get(name) != theirs.get(name)]
    if others:
        raise DataError(
            f"{journey.target}: this stream was started with another {listing(others)}. Continue as it was started, "
            "or choose another output."
        )


def letter(given: Letter) -> bytes:
    """Return a dead letter as a line of JSON; a payload that is not text is base64-encoded."""
    return msgspec.json.encode(given.told | given.enclosed) + b"\n"
