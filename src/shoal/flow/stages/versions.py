"""Versions of the packages that a run depends on."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from platform import python_version

_DEPENDS = ("shoal", "numpy", "pyarrow", "numba")


def versions() -> dict[str, str]:
    """Return the versions of the packages that a run depends on.

    >>> sorted(versions())[0]
    'Python'
    """
    return {"Python": python_version(), **{name: _version(name) for name in _DEPENDS}}


@cache  # explore runs many settings
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from its source
        return "unknown"
