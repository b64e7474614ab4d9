"""Locks of staged files, and removal of those that a killed run left behind.

A staged file has a mark in its name, and a lock file with the same mark beside it. The run that made them holds the
lock as long as it works. The operating system frees it when the run ends, however it ends: a mark whose lock is free
belongs to nobody. Without such locks (Windows, some network drives) nothing is ever removed.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_LOCK = re.compile(r"\.(shoal-[0-9a-f]{16})\.lock")


def new_mark() -> str:
    """Return a mark for the names of staged files, different each time."""
    return f"shoal-{secrets.token_hex(8)}"


@contextmanager
def locked(folder: Path, mark: str) -> Iterator[None]:
    """Hold the lock of a mark; on leaving the block its lock file is gone, unless files with the mark are left.

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


def remove_leftovers(folder: Path) -> None:
    """Remove staged files of runs that were killed: those whose lock nobody holds."""
    if fcntl is None:
        return
    with suppress(OSError):  # what cannot be removed must not stop a run
        for name in os.listdir(folder):
            if found := _LOCK.fullmatch(name):
                with suppress(OSError):
                    _remove(folder, found[1], folder / name)


def _hold(lock: Path) -> int | None:
    """Make a lock file and lock it; None where the system has no locks."""
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
    """Remove the files of one mark, and its lock file last, unless its lock is held."""
    assert fcntl is not None
    descriptor = os.open(lock, _OPEN)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _leads_to(lock, descriptor):
            for name in _marked(folder, mark):
                (folder / name).unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _marked(folder: Path, mark: str) -> list[str]:
    """Return the staged files of a mark, with what databases write beside theirs."""
    return [name for name in os.listdir(folder) if name.startswith(".") and f".{mark}" in name[1:]]


def _leads_to(lock: Path, descriptor: int) -> bool:
    """Tell whether a name still leads to an open file."""
    try:
        return os.path.samestat(os.stat(lock, follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
