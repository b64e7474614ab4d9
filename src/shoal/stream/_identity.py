"""Cells as numbers that are equal for equal values.

Only whether two are equal matters. What could be read as one value is one: 1, 1.0 and "1"; nothing, NaN and blanks. Two
values that get one number by accident count as one, and a class with fewer values never seems more diverse.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


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
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return -1
    number = _number(cell)
    if number is not None:
        return -1 if number != number else _signed(struct.pack("<d", number + 0.0))  # noqa: PLR0124
    text = cell.strip() if isinstance(cell, str) else json.dumps(cell, sort_keys=True, default=str)
    return _signed(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


def _number(cell: Any) -> float | None:
    try:
        if isinstance(cell, str):
            return float(cell) if _NUMBER.fullmatch(cell.strip()) else None
        return float(cell) if isinstance(cell, (int, float)) and not isinstance(cell, bool) else None
    except OverflowError:  # an integer beyond all floats: told by its digits
        return None


def _signed(eight: bytes) -> int:
    return int.from_bytes(eight, "little", signed=True)
