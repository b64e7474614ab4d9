"""Secret randomness, from the operating system: keys, nonces and salts.

All of it comes through :func:`fresh`, so that a test can put a fixed source in its place. What a seed determines is
not secret, and does not come from here.
"""

from __future__ import annotations

import secrets


def fresh(size: int = 32) -> bytes:
    """Return so many random bytes.

    >>> len(fresh()), fresh() == fresh()
    (32, False)
    """
    return secrets.token_bytes(size)
