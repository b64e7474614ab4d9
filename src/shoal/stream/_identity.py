"""Cells as numbers that are equal for equal values.

Only whether two are equal matters. What could be read as one value is one: 1, 1.0 and "1", for the kind of a field is
not known here; flu and Flu; nothing, NaN (also as text) and blanks. Two values that get one number by accident count as
one, and a class with fewer values never seems more diverse.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal import spelling
from shoal.stream_points._cells import is_missing


def identities(cells: Any) -> NDArray[np.int64]:
    """Return a number for each cell.

    >>> found = identities([1, "1.0", 2, None, float("nan"), " "])
    >>> len(set(found.tolist())), found[0] == found[1], found[3] == found[4] == found[5]
    (3, np.True_, np.True_)
    """
    plain = cells.to_pylist() if hasattr(cells, "to_pylist") else cells.tolist() if hasattr(cells, "tolist") else cells
    known: dict[Any, int] = {}
    found = np.empty(len(plain), np.int64)
    for at, cell in enumerate(plain):
        key = (type(cell), cell) if isinstance(cell, (str, int, float)) else None
        code = known.get(key) if key is not None else None
        if code is None:
            code = _identity(cell)
            if key is not None:
                known[key] = code
        found[at] = code
    return found


def _identity(cell: Any) -> int:
    if is_missing(cell):
        return -1
    if isinstance(cell, str):
        cell = spelling.value(cell)
    number = _number(cell)
    if number is not None:
        return -1 if number != number else _signed(struct.pack("<d", number + 0.0))  # noqa: PLR0124
    text = _nested(cell) if isinstance(cell, (list, dict)) else spelling.value(str(cell))
    if not text:
        return -1
    return _signed(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


def _nested(cell: Any) -> str:
    try:
        return json.dumps(cell, sort_keys=True, default=str)
    except (TypeError, ValueError):  # names that have no order
        return str(cell)


def _number(cell: Any) -> float | None:
    """Return what a cell is as a number; integers beyond all floats are one."""
    if isinstance(cell, (bool, np.bool_)):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except (TypeError, ValueError):
        return None


def _signed(eight: bytes) -> int:
    return int.from_bytes(eight, "little", signed=True)
