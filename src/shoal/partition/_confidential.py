"""What the methods that look at confidential attributes themselves ask for."""

from __future__ import annotations

from shoal.errors import DataError
from shoal.types import Confidential, Points


def confidential(owner: object, points: Points) -> tuple[Confidential, ...]:
    """Return the confidential attributes; there must be one."""
    if not points.confidential:
        raise DataError(
            f"{type(owner).__name__}: a confidential attribute must be given, got none. Give confidential= in Python, "
            f"--confidential on the command line."
        )
    return points.confidential


def enough_values(owner: object, attributes: tuple[Confidential, ...], p: int) -> None:
    """Refuse more values in a class than the table has."""
    for attribute in attributes:
        there = int((attribute.counted.counts > 0).sum())
        if p > there:
            raise DataError(
                f"{type(owner).__name__}: p must be at most the number of values of every confidential attribute, got "
                f"p = {p} and {there} of {attribute.name!r} in the table. Lower p to at most {there}."
            )
