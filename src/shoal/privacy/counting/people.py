"""The people whom the records of a release are about, as an audit tells them apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counting.classes import comparable
from shoal.privacy.counting.spelling import people_in
from shoal.types import Release


class People(NamedTuple):
    """Whom records are about."""

    codes: NDArray[np.int64]  #: the number of the person of each record; those about nobody share one
    respelled: int  #: spellings that were taken for another spelling of the same person


def people_of(release: Release) -> People:
    """Return the people of a release, which must name its subjects: once for each release."""
    if "people" not in release.cache:
        assert release.subjects is not None
        column = comparable("subject", release.subjects)
        release.cache["people"] = People(*people_in(column, exact=release.subject_exact))
    found: People = release.cache["people"]
    return found


def counted_in(release: Release) -> str:
    """Say that classes are counted in subjects, and how many spellings were taken for one that is there, too.

    >>> import pyarrow as pa
    >>> from shoal.types import Schema
    >>> counted_in(Release(pa.table({"age": [3, 3]}), Schema(()), subjects=pa.chunked_array([["Ann", "ANN"]])))[:68]
    'counted in subjects; 1 name was taken for another spelling of the sa'
    """
    return "" if release.subjects is None else "; ".join(["counted in subjects", *respelled(release)])


def respelled(release: Release) -> list[str]:
    """Return a remark on how many spellings were taken for another one of the same subject; none if none was."""
    count = people_of(release).respelled
    what = "1 name was taken for another spelling" if count == 1 else f"{count:,} names were taken for other spellings"
    return [f"{what} of the same subject (subject_exact = true would count them apart)"] if count else []
