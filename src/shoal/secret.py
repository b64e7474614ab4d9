"""Secret randomness from the operating system: keys, nonces and salts.

All of it comes through :func:`fresh`, so that a test can substitute a fixed source. Seeded randomness is not secret,
and does not come from here.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def fresh(size: int = 32) -> bytes:
    """Return random bytes, 32 by default.

    >>> len(fresh()), fresh() == fresh()
    (32, False)
    """
    return secrets.token_bytes(size)


def stream(key: bytes, what: str, n: int) -> NDArray[np.uint64]:
    """Return n random numbers for a purpose, which cannot be computed without the key.

    >>> bool((stream(b"key", "rows", 3) == stream(b"key", "rows", 3)).all())
    True
    """
    import numpy as np

    return np.frombuffer(hashlib.shake_256(key + what.encode()).digest(8 * n), "<u8")
