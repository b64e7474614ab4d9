"""Memory ceiling: sizes such as "2GB", and the memory that this process may still use."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from shoal.control_groups import cgroup_folders
from shoal.errors import ParameterError

_UNITS = {
    "": 1,
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)},
    **{f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", 1)},
}
_SIZE = re.compile(r"(\d{1,18}(?:\.\d{1,6})?) ?([A-Za-z]{0,3})", re.ASCII)


def parse_size(text: str, owner: str = "memory") -> int:
    """Return a size in bytes: "2GB" (10⁹ bytes each), "512MiB" (2²⁰ bytes each), or a plain number of bytes.

    Raises
    ------
    ParameterError
        If the text is not a size, or is less than one byte.

    >>> parse_size("2GB"), parse_size("1.5 MiB"), parse_size("4096")
    (2000000000, 1572864, 4096)
    """
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[2].upper()) if found else None
    size = (
        0 if found is None or unit is None else int(float(found[1]) * unit) if "." in found[1] else int(found[1]) * unit
    )
    if not 1 <= size <= sys.maxsize:
        raise ParameterError(
            f"{owner}: must be a positive size in bytes, MB, GB, MiB or GiB, got {text!r}. Write it like 2GB or 512MB."
        )
    return size


def gigabytes(size: int) -> str:
    """Return a size for people.

    >>> gigabytes(2_140_000_000), gigabytes(64_000_000), gigabytes(4096)
    ('2.1 GB', '64 MB', '1 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):,.0f} MB"


def ceiling(given: str | int | None = None, owner: str = "memory") -> int:
    """Return the bytes that a run may use: as given, and never more than is available.

    Where neither is known, nothing is too large: the result is the largest size there is.

    >>> ceiling("1MB"), ceiling(4096)
    (1000000, 4096)
    """
    limits = [] if given is None else [parse_size(str(given), owner)]
    free = available()
    return min(limits if free is None else [*limits, free], default=sys.maxsize)


def available(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process can still take: free memory, or what its control group leaves of it.

    Files that the system keeps in memory only to read them faster count as free. None where Linux does not tell.
    """
    sizes = [*_free(root), *(size for folder in cgroup_folders("memory", root) for size in _left(folder))]
    return max(1, min(sizes)) if sizes else None


def _free(root: Path) -> Iterator[int]:
    """Yield the machine's free memory."""
    with suppress(OSError, ValueError, KeyError):
        yield _table(root / "proc/meminfo")["MemAvailable:"] * 1024


def _left(folder: Path) -> Iterator[int]:
    """Yield what the limit of one control group leaves, in version 2 (``memory.max``) or 1."""
    for limit, used, prefix in (
        ("memory.max", "memory.current", ""),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ):
        with suppress(OSError, ValueError):
            most, now = (int((folder / name).read_text()) for name in (limit, used))  # "max" is not a number
            cached = 0
            with suppress(OSError, ValueError):
                counts = _table(folder / "memory.stat")
                cached = sum(counts.get(f"{prefix}{kind}_file", 0) for kind in ("active", "inactive"))
            yield most - max(0, now - cached)


def _table(path: Path) -> dict[str, int]:
    """Return the numbers in a file of names and numbers."""
    return {words[0]: int(words[1]) for line in path.read_text().splitlines() if len(words := line.split()) > 1}


def resident(root: Path = Path("/")) -> int | None:
    """Return the bytes of memory that this process holds now; None where Linux does not tell."""
    with suppress(OSError, ValueError, IndexError):
        return int((root / "proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None
