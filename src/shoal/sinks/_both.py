"""Two files or none: both appear under their names, or what was there before is there again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shoal.sinks._leftovers import locked, new_mark
from shoal.sinks.atomic import atomic


@contextmanager
def both(first: Path, second: Path, *, force: bool) -> Iterator[tuple[Path, Path]]:
    """Give two temporary paths to write to; on leaving the block both files get their names.

    Guarantee: as that of :func:`atomic`, for two files. If the first cannot get its name after the second has, the
    second is what it was before. Only if the program is killed between these two steps is the second there alone.

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
    with ExitStack() as stack:  # holds the lock of what is kept until it is back, or gone
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
    """Keep what is there, if something is, under another name."""
    if not target.exists():
        return
    try:
        os.link(target, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(target, kept)
