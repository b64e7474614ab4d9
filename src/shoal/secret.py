"""Secret randomness from the operating system: keys, nonces and salts.

All of it comes through :func:`fresh`, so that a test can substitute a fixed source. Seeded randomness is not secret,
and does not come from here.
"""

from __future__ import annotations

import secrets


def fresh(size: int = 32) -> bytes:
    """Return random bytes, 32 by default.

    >>> len(fresh()), fresh() == fresh()
    (32, False)
    """
    return secrets.token_bytes(size)
