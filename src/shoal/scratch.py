"""Scratch folders, locks of staged files that reveal the leftovers of killed runs, and disk errors.

A staged file or folder has a mark in its name, and a lock file with the same mark next to it. The run that made them
holds the lock while it works. The operating system frees it when the run ends, however it ends: a mark with a free lock
has no owner. Without such locks (Windows, some network drives) nothing is ever removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import ModuleType

from shoal.errors import EngineError, ParameterError, ShoalError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_LOCK = re.compile(r"\.(shoal-[0-9a-f]{16})\.lock")
_REPLACED = re.compile(r"\.replaced\.shoal-[0-9a-f]{16}\.(.+)", re.DOTALL)


def replaced_name(name: str, mark: str) -> str:
    """Return the hidden name of a folder while another one takes its place.

    >>> replaced_name("safe", "shoal-0123456789abcdef")
    '.replaced.shoal-0123456789abcdef.safe'
    """
    return f".replaced.{mark}.{name}"


def new_mark() -> str:
    """Return a unique mark for the names of staged files."""
    return f"shoal-{secrets.token_hex(8)}"


@contextmanager
def locked(folder: Path, mark: str) -> Iterator[None]:
    """Hold the lock of a mark; when the block ends its lock file is removed, unless files with the mark remain.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder), new_mark()):
    ...     remove_leftovers(Path(folder))
    ...     len(os.listdir(folder))
    1
    """
    lock = folder / f".{mark}.lock"
    descriptor = _hold(lock)
    try:
        yield
    finally:
        with suppress(OSError):
            if not _marked(folder, mark):
                lock.unlink(missing_ok=True)
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def scratch_folder(near: Path | None = None, *, inside: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder for temporary data that only this user can read; it is removed when the block ends.

    Guarantee: it is removed whatever ends the block, including KeyboardInterrupt and SystemExit. A killed run
    (``kill -9``) leaves it behind; the next run with a scratch folder or an output in the same place removes it.

    Parameters
    ----------
    near
        A file or folder next to which the scratch folder is created, such as the output. The environment variable
        ``SHOAL_SCRATCH`` names another folder and takes precedence. Without either, it is in the system's folder for
        temporary files.
    inside
        The folder in which it is created, whatever the environment says.

    Raises
    ------
    EngineError
        If the folder cannot be created, or if the disk becomes full inside the block.

    >>> with scratch_folder() as folder:
    ...     stat.filemode(folder.stat().st_mode)
    'drwx------'
    >>> folder.exists()
    False
    """
    parent = scratch_place(near) if inside is None else Path(os.path.realpath(inside))
    mark = new_mark()
    folder = parent / f".scratch.{mark}"
    if not parent.is_dir():
        raise _no_place(parent)
    remove_leftovers(parent)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(parent, mark))
            stack.callback(remove_folder, folder)
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise unwritable(f"Scratch folder in {parent}", error, _ELSEWHERE) from None
        try:
            yield folder
        except OSError as error:
            if error.errno not in _FULL:  # not about this folder
                raise
            raise unwritable(f"Scratch folder in {parent}", error, _ELSEWHERE) from None


_ELSEWHERE = "or set SHOAL_SCRATCH to a folder on another disk"


def scratch_place(near: Path | None = None) -> Path:
    """Return the folder in which :func:`scratch_folder` creates its folder.

    >>> scratch_place(Path("out/safe.parquet")).name
    'out'
    """
    if named := os.environ.get("SHOAL_SCRATCH"):
        return Path(os.path.realpath(named))
    if near is None:
        return Path(tempfile.gettempdir())
    return Path(os.path.realpath(near)).parent


def _no_place(parent: Path) -> ShoalError:
    said = "SHOAL_SCRATCH must name" if os.environ.get("SHOAL_SCRATCH") else "Scratch folder: its place must be"
    return ParameterError(f"{said} an existing folder, got {parent}. Create it, or name another.")


def remove_folder(folder: Path) -> None:
    """Remove a folder and everything in it; a part that cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Remove staged files and folders of killed runs: those whose lock is free."""
    if fcntl is None:
        return
    with suppress(OSError):  # a file that cannot be removed must not stop a run
        for name in os.listdir(folder):
            if found := _LOCK.fullmatch(name):
                with suppress(OSError):
                    _remove(folder, found[1], folder / name)


def _hold(lock: Path) -> int | None:
    """Create a lock file and lock it; None if the system has no locks."""
    if fcntl is None:
        return None
    while True:
        descriptor = os.open(lock, _OPEN | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # waits only for a run that takes it for a leftover
        except OSError:  # a file system without locks
            os.close(descriptor)
            lock.unlink(missing_ok=True)
            return None
        if _leads_to(lock, descriptor):
            return descriptor
        os.close(descriptor)  # it was removed before it was locked


def _remove(folder: Path, mark: str, lock: Path) -> None:
    """Remove the files of one mark, its lock file last, unless its lock is held."""
    assert fcntl is not None
    descriptor = os.open(lock, _OPEN)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _leads_to(lock, descriptor):
            for name in _marked(folder, mark):
                _remove_marked(folder / name)
            lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _remove_marked(leftover: Path) -> None:
    """Remove a file or folder of a killed run; a folder that was about to be replaced gets its name back."""
    if not stat.S_ISDIR(leftover.lstat().st_mode):
        leftover.unlink(missing_ok=True)
        return
    replaced = _REPLACED.fullmatch(leftover.name)
    with suppress(OSError):
        if replaced and not os.path.lexists(target := leftover.with_name(replaced[1])):
            os.rename(leftover, target)
            return
    shutil.rmtree(leftover)


def _marked(folder: Path, mark: str) -> list[str]:
    """Return the staged files and folders of a mark, including the side files of databases."""
    return [name for name in os.listdir(folder) if name.startswith(".") and f".{mark}" in name[1:]]


def _leads_to(lock: Path, descriptor: int) -> bool:
    """Tell whether a name still leads to an open file."""
    try:
        return os.path.samestat(os.stat(lock, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False


@contextmanager
def about(path: Path, owner: object) -> Iterator[None]:
    """Let errors inside the block name the owner of a temporary file or folder instead of its path."""
    try:
        yield
    except ShoalError as error:
        error.sentences = tuple(said.replace(str(path), str(owner)) for said in error.sentences)
        error.args = tuple(str(said).replace(str(path), str(owner)) for said in error.args)
        raise


_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn disk errors inside the block into sentences."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(
    path: Path | str,
    error: OSError,
    again: str = "or choose another folder",
    forbidden: str = "the folder is not writable",
) -> ShoalError:
    """Return the error that says why a file cannot be written, and the remedy, which may be to try `again`.

    >>> unwritable(Path("a.csv"), OSError(errno.ENOSPC, "")).args[0]
    'a.csv: could not be written (the disk or the quota is full). Free some space, or choose another folder.'
    """
    code = error.errno
    if code == errno.EISDIR:
        return ParameterError(f"{path}: must be a file, got a folder. Add a file name to it.")
    if code in _FULL:
        why, do = "the disk or the quota is full", f"Free some space, {again}"
    elif code == errno.EFBIG:
        why, do = "its size exceeds the limit", f"Raise the limit, {again}"
    elif code in _FORBIDDEN:
        why, do = forbidden, "Choose another folder, or ask for permission"
    elif code in (errno.ENOENT, errno.ENOTDIR):
        why, do = f"there is no folder {Path(path).parent}", "Create it, or choose another"
    elif code == errno.ENAMETOOLONG:
        why, do = "its name is too long", "Choose a shorter one"
    else:
        why, do = error.strerror or type(error).__name__, f"Check the disk, {again}"
    return EngineError(f"{path}: could not be written ({why}). {do}.")
