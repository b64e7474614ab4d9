"""Number of threads to compute with: from the machine and its control group, or as set by the user.

Results do not depend on it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from shoal.control_groups import cgroup_folders
from shoal.errors import ParameterError

VARIABLE = "SHOAL_THREADS"
_MOST = 1024


def thread_count() -> int:
    """Return the number of threads to use: ``SHOAL_THREADS``, or as many as there are cores for this process."""
    said = os.environ.get(VARIABLE)
    return available_cores() if said is None else checked_count(VARIABLE, said)


def checked_count(owner: str, said: str) -> int:
    """Return a number of threads as an integer, or say what is wrong with it.

    >>> checked_count("--threads", "4")
    4
    """
    count = int(said) if said.isascii() and said.isdigit() else 0
    if not 1 <= count <= _MOST:
        raise ParameterError(
            f"{owner}: must be an integer from 1 to {_MOST}, got {said!r}. Leave it out to use all available cores."
        )
    return count


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Use this number of threads inside the block, in the whole process and in those that it starts."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def available_cores() -> int:
    """Return the number of cores that this process may use, at least 1."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, cgroup_cores() or cores))


@cache
def cgroup_cores(root: Path = Path("/")) -> int | None:
    """Return the CPU quota of the control group, in cores and rounded up; None without a quota.

    Reads version 2 (``cpu.max``) and version 1 (``cpu.cfs_quota_us``).
    """
    limits: list[float] = []
    for folder in cgroup_folders("cpu", root):
        with suppress(OSError, ValueError, ZeroDivisionError):
            if (folder / "cpu.max").exists():
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
            limits.append(float(quota) / float(period))  # "max" is not a number
    return min((max(1, math.ceil(limit)) for limit in limits if limit > 0), default=None)
