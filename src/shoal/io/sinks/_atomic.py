"""Atomic files: a file appears under its name only when complete; staged files of killed runs are removed."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shoal.errors import ParameterError, ShoalError
from shoal.scratch import locked, new_mark, remove_leftovers, unwritable

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
_NO_FOLDER_SYNC = (errno.EINVAL, errno.EACCES, errno.EPERM, errno.EOPNOTSUPP, errno.EBADF)
_LONGEST_STEM = 64


@contextmanager
def atomic(path: Path, *, force: bool, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to; when the block ends the file gets its name atomically.

    Guarantee: if the block ends normally, the file is on disk under its name. If it ends with any exception, including
    KeyboardInterrupt, an existing file of that name is untouched and nothing is left behind. Until it is complete only
    this user can read it. Without `force` no file is ever replaced, not even one that another process creates in the
    meantime. A killed run (``kill -9``) leaves the staged file behind; the next run that writes to the folder removes
    it.

    Parameters
    ----------
    path
        The final name. A symbolic link stays, and its target is written.
    force
        Whether an existing file may be replaced. Its permissions are kept.
    private
        Give the file mode 0600, whatever was there before: only its owner can read it.

    Yields
    ------
    Path
        A hidden, empty file in the same folder, with the same suffix.

    Raises
    ------
    ParameterError
        If the file exists and `force` is not given, or if it is a folder or a device.
    EngineError
        If the disk is full, the folder is missing or not writable.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic(Path(folder, "a.txt"), force=False) as staged:
    ...         _ = staged.write_text("whole")
    ...     Path(folder, "a.txt").read_text()
    'whole'
    """
    target = Path(os.path.realpath(path))
    mark = new_mark()
    staged = target.with_name(f".{target.stem[:_LONGEST_STEM]}.{mark}{target.suffix}")
    with errors_of(path, staged):
        mode = _mode(path, target, force=force)
        remove_leftovers(target.parent)
        with locked(target.parent, mark), _removed_at_last(staged):
            mode = _usual_mode(staged) if mode is None else mode
            os.close(os.open(staged, _NEW, 0o600))
            yield staged
            sync(staged)
            os.chmod(staged, 0o600 if private else mode)
            _publish(path, target, staged, force=force)


@contextmanager
def errors_of(path: Path, staged: Path) -> Iterator[None]:
    """Report errors of staging under the name of the output; its staged name means nothing to users."""
    try:
        yield
    except BrokenPipeError:  # whoever read this program's output closed it; the disk is fine
        raise
    except OSError as error:
        raise unwritable(path, error) from None
    except ShoalError as error:
        if staged.name not in str(error):
            raise
        raise type(error)(str(error).replace(str(staged), str(path)).replace(staged.name, path.name)) from None


@contextmanager
def _removed_at_last(staged: Path) -> Iterator[None]:
    """Remove a staged file when the block ends, whatever happens in it."""
    try:
        yield
    finally:
        with suppress(OSError):
            staged.unlink(missing_ok=True)


def same_file(a: Path, b: Path) -> bool:
    """Return whether two paths lead to one file, also through symbolic or hard links.

    >>> same_file(Path("people.csv"), Path("./people.csv"))
    True
    """
    try:
        return os.path.samefile(a, b)
    except OSError:  # one of them does not exist
        return os.path.realpath(a) == os.path.realpath(b)


def check_target(path: Path, *, force: bool) -> None:
    """Refuse a file that must not be replaced, or whose folder is not writable; nothing is written."""
    target = Path(os.path.realpath(path))
    try:
        _mode(path, target, force=force)
        if not target.parent.is_dir():
            raise unwritable(path, OSError(errno.ENOENT, ""))
        if not os.access(target.parent, os.W_OK):
            raise unwritable(path, OSError(errno.EACCES, ""))
    except OSError as error:
        raise unwritable(path, error) from None


def exists_already(path: Path) -> ParameterError:
    return ParameterError(f"{path}: already exists; give --force to replace it, or another name.")


def _mode(path: Path, target: Path, *, force: bool) -> int | None:
    """Return the permissions of the file to replace, None for a new file; raise if it must not be written."""
    try:
        there = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(there.st_mode):
        raise ParameterError(f"{path}: must be a file, got a folder. Add a file name to it.")
    if not stat.S_ISREG(there.st_mode):
        raise ParameterError(f"{path}: must be a regular file, got a device or a pipe. Choose another name.")
    if not force:
        raise exists_already(path)
    return stat.S_IMODE(there.st_mode) & 0o777


def _usual_mode(staged: Path) -> int:
    """Return the default permissions of new files by creating one: asking for the umask would change it."""
    with _removed_at_last(staged):
        descriptor = os.open(staged, _NEW, 0o666)
        try:
            return stat.S_IMODE(os.fstat(descriptor).st_mode)
        finally:
            os.close(descriptor)


def _publish(path: Path, target: Path, staged: Path, *, force: bool) -> None:
    """Give the file its final name."""
    if force:
        os.replace(staged, target)
    else:
        try:
            _publish_new(target, staged)
        except FileExistsError:
            raise exists_already(path) from None
    if os.name == "posix":
        sync_folder(target.parent)


def _publish_new(target: Path, staged: Path) -> None:
    """Give the file its final name, or raise FileExistsError if the name is taken."""
    try:
        os.link(staged, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without hard links: claim the name first, which only one process can, then fill it.
        os.close(os.open(target, _NEW, 0o600))
        os.replace(staged, target)


def sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Flush the folder's directory entry to disk, where the file system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


@contextmanager
def both(first: Path, second: Path, *, force: bool) -> Iterator[tuple[Path, Path]]:
    """Yield two temporary paths to write to; when the block ends both files get their names.

    Guarantee: that of :func:`atomic`, for two files. If the first cannot get its name after the second has, the second
    is restored. Only if the program is killed between these two steps does the second exist without the first.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with both(Path(folder, "a.txt"), Path(folder, "b.txt"), force=False) as staged:
    ...         _ = [path.write_text("whole") for path in staged]
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['a.txt', 'b.txt']
    """
    target = Path(os.path.realpath(second))
    mark = new_mark()
    kept = target.with_name(f".kept.{mark}{target.suffix}")
    published = False
    with ExitStack() as stack:  # holds the lock of the backup until it is restored or removed
        try:
            with atomic(first, force=force) as one:
                with atomic(second, force=force) as other:
                    yield one, other
                    stack.enter_context(locked(target.parent, mark))
                    _keep(target, kept)
                published = True
        except BaseException:
            if published:
                os.replace(kept, target) if kept.exists() else target.unlink(missing_ok=True)
            raise
        finally:
            with suppress(OSError):
                kept.unlink(missing_ok=True)


def _keep(target: Path, kept: Path) -> None:
    """Keep an existing file under another name."""
    if not target.exists():
        return
    try:
        os.link(target, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(target, kept)
