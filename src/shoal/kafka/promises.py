"""What was promised, in so few characters that it stands beside every offset, and yet says what has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_WIDE = 6


def mark(fingerprint: str, promises: Mapping[str, Any]) -> str:
    """Return a text that is equal for equal promises: the fingerprint, and a short digest of each in turn.

    >>> len(mark("f" * 64, {"k": 5, "delay": 100}))
    76
    """
    return fingerprint + "".join(_digest(name, promises[name]) for name in sorted(promises))


def changed(mine: str, theirs: str, promises: Mapping[str, Any]) -> list[str]:
    """Return which promises differ between two marks, of which the first is of `promises`; empty: not known.

    >>> before = mark("f", {"k": 5, "delay": 100})
    >>> changed(mark("g", now := {"k": 4, "delay": 100}), before, now)
    ['k']
    """
    if len(mine) != len(theirs):
        return []
    names, begin = sorted(promises), len(mine) - _WIDE * len(promises)
    at = {name: slice(begin + _WIDE * i, begin + _WIDE * (i + 1)) for i, name in enumerate(names)}
    return [name for name in names if mine[at[name]] != theirs[at[name]]]


def _digest(name: str, value: Any) -> str:
    canonical = json.dumps([name, value], sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=list)
    return hashlib.sha256(canonical.encode()).hexdigest()[:_WIDE]
