"""What to say when a disk does not take what it is given."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import EngineError, ParameterError, ShoalError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in a sentence what goes wrong with the disk inside the block."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> ShoalError:
    """Return the error that says why a file cannot be written, and what to do.

    >>> unwritable(Path("a.csv"), OSError(errno.ENOSPC, "")).args[0]
    'a.csv: could not be written, the disk or the quota is full. Free some space, or choose another folder.'
    """
    code = error.errno
    if code == errno.EISDIR:
        return ParameterError(f"{path}: must be a file, got a folder. Add a file name to it.")
    if code in _FULL:
        why, do = "the disk or the quota is full", "Free some space, or choose another folder"
    elif code == errno.EFBIG:
        why, do = "it is larger than files may be here", "Raise the limit, or choose another folder"
    elif code in _FORBIDDEN:
        why, do = "the folder may not be written to", "Choose another folder, or ask for permission"
    elif code in (errno.ENOENT, errno.ENOTDIR):
        why, do = f"there is no folder {path.parent}", "Create it, or choose another"
    elif code == errno.ENAMETOOLONG:
        why, do = "its name is too long", "Choose a shorter one"
    else:
        why, do = error.strerror or type(error).__name__, "Check the disk, or choose another folder"
    return EngineError(f"{path}: could not be written, {why}. {do}.")
