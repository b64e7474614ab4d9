"""Keys that repeat: whether their values are households, or people with several records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import listing

Codes = NDArray[np.int64]
A_PERSON = "its values repeat like those of a person with several records"
UNDECIDED = "its values repeat, like households or people with several records"
_MEAN = (2.0, 6.0)  # records of a value on average
_AGREE = 0.95  # share of values whose records must agree in a column
_VARIED = 0.95  # two records of the table agree in a column by chance less often than this
_FEW = 20  # values of a key, at least


@dataclass(frozen=True, slots=True)
class Repeats:
    """Repetition of the values of a key, and the role that it suggests."""

    name: str
    distinct: int
    mean: float  #: records of a value on average
    household: bool | None  #: None: no column tells
    by: tuple[str, ...]  #: the columns that tell

    @property
    def sentence(self) -> str:
        """The observation, and the role that it suggests.

        >>> print(Repeats("v2", 40, 2.5, None, ()).sentence)
        Column 'v2': its 40 values have 2.5 records each on average, and no column such as sex or birth tells whether a value is a household or a person. It is removed; if it is a household, name it as together, if it is a person, as subject.
        """  # noqa: E501 it is one sentence
        seen = f"Column {self.name!r}: its {self.distinct:,} values have {self.mean:.1f} records each on average, and"
        names = listing([repr(name) for name in self.by])
        if self.household is None:
            return (
                f"{seen} no column such as sex or birth tells whether a value is a household or a person. It is "
                f"removed; if it is a household, name it as together, if it is a person, as subject."
            )
        if self.household:
            return (
                f"{seen} their records differ in {names}. This suggests a household: with together = {self.name!r} "
                f"classes never split it, and k counts households."
            )
        return (
            f"{seen} their records agree in {names}. This suggests a person with several records: with "
            f"subject = {self.name!r}, k counts people."
        )


def repeats(name: str, key: Codes, distinct: int, others: Mapping[str, Codes], own: Sequence[str]) -> Repeats | None:
    """Tell whether a column repeats like a key of households or people; None if it does not.

    Its values must have 2 to 6 records on average, and nearly all must agree in some other column that is not constant
    in the table, as households do in their region. If they agree in an attribute of single people, such as sex or
    birth, a value is a person; if they differ in all of these, it is a household.

    Parameters
    ----------
    name
        Name of the column.
    key
        Its values as codes from 0; `distinct` stands for a missing value.
    distinct
        Number of its values.
    others
        The codes of other columns.
    own
        Those of them that are attributes of single people.
    """
    rows = np.flatnonzero(key < distinct)
    if distinct < _FEW or not _MEAN[0] <= len(rows) / distinct <= _MEAN[1]:
        return None
    rows = rows[np.argsort(key[rows], kind="stable")]
    begins = np.flatnonzero(np.diff(key[rows], prepend=-1))
    several = np.diff(np.append(begins, len(rows))) > 1
    agree = [one for one, codes in others.items() if _agrees(codes[rows], begins, several)]
    if not agree:
        return None
    same = tuple(one for one in own if one in agree)
    household = None if not own else not same
    return Repeats(name, distinct, len(rows) / distinct, household, same or tuple(own))


def _agrees(codes: Codes, begins: Codes, several: NDArray[np.bool_]) -> bool:
    """Tell whether a column varies, but hardly among the records of one value of a key."""
    shares = np.bincount(codes) / len(codes)
    if float((shares**2).sum()) >= _VARIED:
        return False
    equal = np.minimum.reduceat(codes, begins) == np.maximum.reduceat(codes, begins)
    return bool(equal[several].mean() >= _AGREE)
