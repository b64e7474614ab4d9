"""Folder of compiled kernels: which one is used, who may write to it, and for which processor it is.

``SHOAL_CACHE`` names the folder; without it numba chooses one. Compiled kernels are machine code in pickles, so that
whoever writes to the folder decides what this process runs. A folder that was named is therefore refused if anyone but
its user, or root, may write to it. The package's own folder holds Python code and is trusted as that is.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import config as numba_settings

from shoal.errors import EngineError, ParameterError

VARIABLE = "SHOAL_CACHE"
GENERIC = "generic"
config: Any = numba_settings
_MARK = "shoal-cpu"  # file that says for which processor the kernels in a folder are
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def named_folder() -> tuple[str, Path] | None:
    """Return the variable that names a folder and the folder; None if numba chooses."""
    if said := os.environ.get(VARIABLE):
        return VARIABLE, Path(said).absolute()
    return ("NUMBA_CACHE_DIR", Path(config.CACHE_DIR)) if config.CACHE_DIR else None


def refuse_shared(owner: str, folder: Path, paths: Iterable[Path] = ()) -> None:
    """Refuse a folder if others may write to it, or to one of these paths inside."""
    if os.name != "posix":
        return  # Windows has lists of rights instead
    for path in (folder, *paths):
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        whose = "belongs to another user" if found.st_uid not in (0, os.geteuid()) else ""
        if whose or found.st_mode & _OTHERS:
            where = "it" if path == folder else f"{path.relative_to(folder)} in it"
            raise ParameterError(
                f"{owner}: must be a folder that no other user can write to, since compiled kernels in it are run; "
                f"{where} {whose or 'is writable for others'}. Name another folder, or run chmod -R go-w on it."
            )


def is_named(path: Path) -> bool:
    """Tell whether a path is in a folder that a variable names."""
    found = named_folder()
    return found is not None and path.is_relative_to(found[1])


def refuse_shared_cache(inside: Path) -> None:
    """Refuse to load kernels from a folder inside the named one that others may write to."""
    if (found := named_folder()) is not None:
        between = [path for path in inside.parents if path.is_relative_to(found[1]) and path != found[1]]
        refuse_shared(*found, [*between, inside, *(inside.iterdir() if inside.is_dir() else ())])


def make_private(folder: Path) -> None:
    """Create a folder, with its parents, that others cannot write to, whatever the mask of the process is."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        keep_from_others(path)


def keep_from_others(path: Path) -> None:
    """Take the right to write from others."""
    path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)


def base_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that holds the kernels of a process: the named one, or the package's."""
    said = environment.get(VARIABLE) or config.CACHE_DIR
    return Path(said).absolute() if said else Path(__file__).parent.parent / "__pycache__"


def mark(folder: Path, cpu: str | None) -> None:
    """Write down for which processor the kernels in a folder are: generic, or None for each machine's own."""
    try:
        make_private(folder)
        (folder / _MARK).unlink(missing_ok=True)
        if cpu is not None:
            (folder / _MARK).write_text(f"{cpu}\n")
            keep_from_others(folder / _MARK)
    except OSError as error:
        raise EngineError(
            f"warm: kernels cannot be written to their folder ({error.strerror}). Name another one with --cache."
        ) from None


def choose_cpu() -> None:
    """Compile for a generic processor from now on if the folder says so, unless numba's settings name one."""
    with suppress(OSError):
        if config.CPU_NAME is None and (base_folder() / _MARK).read_text().strip() == GENERIC:
            config.CPU_NAME, config.CPU_FEATURES = GENERIC, ""
