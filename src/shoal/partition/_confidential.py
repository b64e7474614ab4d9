"""Checks shared by the methods that look at confidential attributes."""

from __future__ import annotations

from shoal.errors import DataError, SchemaError, listing
from shoal.types import Confidential, Points


def confidential(owner: object, points: Points) -> tuple[Confidential, ...]:
    """Return the confidential attributes; there must be one."""
    if not points.confidential:
        raise DataError(
            f"{type(owner).__name__}: a confidential attribute must be given, got none. Give confidential= in Python, "
            f"--confidential on the command line."
        )
    return points.confidential


def ranked(owner: object, points: Points) -> list[Confidential]:
    """Return the confidential attributes that have an order; there must be one."""
    name = type(owner).__name__
    if not points.confidential:
        raise DataError(
            f"{name}: at least one confidential attribute must be given, got none. Name it: confidential= in Python, "
            f"--confidential on the command line."
        )
    found = [attribute for attribute in points.confidential if attribute.ranked]
    if not found:
        names = listing([repr(attribute.name) for attribute in points.confidential])
        raise SchemaError(
            f"{name}: a confidential column with an order is needed, {names} is nominal. Give it a taxonomy or another "
            f"kind in the recipe, or take t_close_merge or k_first."
        )
    return found


def enough_values(owner: object, attributes: tuple[Confidential, ...], p: int) -> None:
    """Refuse more values in a class than the table has."""
    for attribute in attributes:
        there = int((attribute.counted.counts > 0).sum())
        if p > there:
            raise DataError(
                f"{type(owner).__name__}: p must be at most the number of values of every confidential attribute, got "
                f"p = {p} and {there} of {attribute.name!r} in the table. Lower p to at most {there}."
            )
