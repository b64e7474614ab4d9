"""Folders of files as output: staged beside their final name, and published as a whole."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from shoal.errors import ParameterError, listing
from shoal.io.manifest import MANIFEST
from shoal.io.sinks._atomic import errors_of, exists_already, sync, sync_folder
from shoal.scratch import locked, new_mark, remove_folder, remove_leftovers, replaced_name
from shoal.types import Dialect
from shoal.types.protocols import Fresh, Sink, Writer

if TYPE_CHECKING:
    import pyarrow as pa

#: Formats of parts. Other text files may be a user's notes, so a folder that holds them is never replaced.
_PARTS = (".parquet", ".pq", ".csv", ".tsv", ".tab")

#: Rows of each part, the last one excepted.
PART_ROWS = 1 << 22

_LONGEST_NAME = 64
_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE
_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


@contextmanager
def staged_folder(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a hidden folder to write files to; when the block ends the folder gets its name.

    Guarantee: if the block ends normally, the folder is on disk under its name, with exactly the files written to it.
    If it ends with any exception, an existing folder of that name is untouched and nothing is left behind. Until it is
    complete only this user can read it. Without `force` nothing is replaced except an empty folder; with it, only a
    folder that holds nothing but tables, a manifest and hidden files. Two folders are never merged. A killed run
    (``kill -9``) leaves the staged folder behind; the next run that writes beside it removes it.

    Departures
    ----------
    Where the file system cannot exchange two names in one step, an existing folder has no name for a moment. If the run
    is killed then, the next run that writes beside it restores it.

    Raises
    ------
    ParameterError
        If the folder exists and `force` is not given, or if it holds other files, or is a file.
    EngineError
        If the disk is full, or the parent folder is missing or not writable.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     with staged_folder(Path(home, "safe"), force=False) as staged:
    ...         _ = (staged / part_name(0, ".csv")).write_text("age")
    ...     os.listdir(Path(home, "safe"))
    ['part-00000.csv']
    """
    target = Path(os.path.realpath(path))
    mark = new_mark()
    staged = target.with_name(f".{target.name[:_LONGEST_NAME]}.{mark}")
    with errors_of(path, staged), ExitStack() as stack:
        check_folder(path, force=force)
        remove_leftovers(target.parent)
        stack.enter_context(locked(target.parent, mark))
        stack.callback(remove_folder, staged)
        mode = _usual_mode(staged) if not target.exists() else stat.S_IMODE(target.stat().st_mode)
        staged.mkdir(mode=0o700)
        yield staged
        _sync_files(staged, mode)
        check_folder(path, force=force)  # files may have been added since the first check
        _publish(target, staged, target.with_name(replaced_name(target.name, mark)) if force else None)
        if os.name == "posix":
            sync_folder(target.parent)


def part_name(number: int, suffix: str) -> str:
    """Return the name of a part, counted from 0.

    >>> part_name(3, ".parquet")
    'part-00003.parquet'
    """
    return f"part-{number:05d}{suffix}"


def check_folder(path: Path, *, force: bool) -> None:
    """Refuse a folder that must not be replaced; nothing is written."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(there.st_mode):
        raise ParameterError(f"{path}: must be a folder, got a file. Choose another name, or remove the file.")
    entries = list(os.scandir(path))
    if entries and not force:
        raise exists_already(path)
    foreign = sorted(entry.name for entry in entries if not _is_ours(entry))
    if foreign:
        raise ParameterError(
            f"{path}: a folder that is replaced must hold only tables ({', '.join(_PARTS)}), {MANIFEST} and hidden "
            f"files, got {listing([repr(name) for name in foreign], most=5)}. Choose another folder, or move them."
        )


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Tell whether a file may be deleted with its folder."""
    if not entry.is_file(follow_symlinks=False):
        return False
    return entry.name == MANIFEST or entry.name.startswith(".") or entry.name.lower().endswith(_PARTS)


def _usual_mode(staged: Path) -> int:
    """Return the default permissions of new folders by creating one: asking for the umask would change it."""
    staged.mkdir()
    try:
        return stat.S_IMODE(staged.stat().st_mode)
    finally:
        staged.rmdir()


def _sync_files(folder: Path, mode: int) -> None:
    """Flush all files of a folder, and the folder itself; give them the folder's permissions, without execution."""
    for name in sorted(os.listdir(folder)):
        os.chmod(folder / name, mode & 0o666)
        sync(folder / name)
    os.chmod(folder, mode)
    if os.name == "posix":
        sync_folder(folder)


def _publish(target: Path, staged: Path, replaced: Path | None) -> None:
    """Give the folder its final name; an existing one is kept as `replaced` meanwhile, and removed afterwards."""
    try:
        if os.name != "posix" and target.is_dir() and not os.listdir(target):
            target.rmdir()
        os.rename(staged, target)  # also replaces an empty folder, in one step
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        if replaced is None or not target.is_dir():
            raise exists_already(target) from None
        _replace(target, staged, replaced)


def _replace(target: Path, staged: Path, replaced: Path) -> None:
    """Let two folders exchange their places, and remove the old one."""
    if _exchanged(staged, target):
        remove_folder(staged)
        return
    os.rename(target, replaced)
    try:
        os.rename(staged, target)
    except BaseException:
        os.rename(replaced, target)
        raise
    remove_folder(replaced)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; False where the system cannot."""
    if sys.platform != "linux":
        return False
    try:
        rename: Any = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # an older or another C library
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


class PartsWriter:
    """A folder that is written in batches, as files of a fixed number of rows; the last one may have fewer.

    Attributes
    ----------
    files
        The parts written so far.
    records
        The number of rows of each.
    """

    def __init__(self, folder: Path, suffix: str, rows: int, open_part: Callable[[Path], Any]) -> None:
        self.files: list[Path] = []
        self.records: list[int] = []
        self._folder, self._suffix, self._rows, self._open = folder, suffix, rows, open_part
        self._part = ExitStack()
        self._free = 0
        self._into: Writer

    def write(self, table: pa.Table) -> None:
        """Append a table."""
        start = 0
        while start < table.num_rows:
            if not self._free:
                self._begin()
            piece = table.slice(start, self._free)
            self._into.write(piece)
            start += piece.num_rows
            self._free -= piece.num_rows
            self.records[-1] += piece.num_rows

    def _begin(self) -> None:
        self._part.close()
        self.files.append(self._folder / part_name(len(self.files), self._suffix))
        self.records.append(0)
        self._into = self._part.enter_context(self._open(self.files[-1]))
        self._free = self._rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._part.__exit__(*error)


def parts_writer(
    sink: Sink, folder: Path, suffix: str, schema: pa.Schema, dialect: Dialect | None, fresh: Fresh | None = None
) -> PartsWriter:
    """Open a staged folder to be written in batches, as files with this suffix."""
    return PartsWriter(folder, suffix, PART_ROWS, lambda path: sink.writer(path, schema, dialect, fresh))
