"""What the methods that see to t-closeness themselves ask for."""

from __future__ import annotations

from shoal.errors import DataError
from shoal.types import Confidential, Points


def confidential(owner: object, points: Points) -> tuple[Confidential, ...]:
    """Return the confidential attributes that classes must be close in; there must be one."""
    if not points.confidential:
        raise DataError(
            f"{type(owner).__name__}: a confidential attribute must be given, got none. Give confidential= in Python, "
            f"--confidential on the command line."
        )
    return points.confidential
