"""How many different values of a confidential column there are in every class: one count, known by two names."""

from __future__ import annotations

from typing import NamedTuple

from shoal.privacy._histograms import histograms_of
from shoal.privacy._levels import worst
from shoal.types import Finding, Release


class Fewest(NamedTuple):
    """What the count is called, and how many values there must be."""

    model: str
    short: str
    level: str
    required: int | None


def fewest_values(asked: Fewest, release: Release, names: tuple[str, ...], confidential: str) -> Finding:
    """Find the fewest values of a confidential column in any class over some columns."""
    found = histograms_of(release, names, confidential, as_counted=True)
    achieved = int(found.distinct.min())
    single = found.distinct == 1
    return Finding(
        model=asked.model,
        attributes=names,
        achieved=achieved,
        required=asked.required,
        holds=asked.required is None or achieved >= asked.required,
        classes=len(found.distinct),
        worst=worst(found.distinct, found.classes),
        confidential=confidential,
        short=asked.short,
        level=asked.level,
        uniform=(int(single.sum()), int(found.classes.sizes[single].sum())),
    )
