"""k′: real anonymity, the number of records for each distinct masked record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.errors import ParameterError
from shoal.parameters import Checked, Param, unknown
from shoal.risk._attacker import classes_of, joined, values_of
from shoal.types import Comparison, Measure, Reading


@dataclass(frozen=True)
class RealAnonymity(Checked, Measure):
    """n divided by the number of distinct masked records, in the attributes that an attacker knows.

    If attributes were masked in blocks, or a method promises no k, an attacker who knows attributes of several blocks
    faces groups smaller than k. With several sets of attributes: the mean over them, and each as a part.

    **Guarantee.** 1 (all records differ) to n (all are equal). As a mean, it can be large even if single records are
    unique. In a release of one block with classes of at least k it is at least k, whatever is known.

    **Complexity.** O(n log n) for each known attribute.

    References: [N14] Section 2.3.

    >>> masked = np.array([[1.5], [1.5], [3.5], [3.5]])
    >>> RealAnonymity().measure(Comparison(masked, masked, ("x",))).value
    2.0
    """

    short: ClassVar[str] = "k_real"
    exchangeable: ClassVar[bool] = True
    unpaired: ClassVar[bool] = True
    goal: ClassVar[str] = "high"
    range: ClassVar[tuple[float, float]] = (1.0, math.inf)

    groups: Annotated[
        str, Param("Attributes that an attacker knows, e.g. a,b,c;a,d for two alternative groups; empty: all.")
    ] = ""

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the real anonymity of a masked table."""
        n, attributes = len(comparison), comparison.attributes
        groups = self._groups(attributes)
        note = "" if n else "There are no records."
        found = []
        for names in groups if n else []:
            classes = joined([values_of(comparison, name) for name in names]) if names else classes_of(comparison)
            found.append(n / len(np.unique(classes)))
        parts = tuple((",".join(names), value) for names, value in zip(groups, found, strict=False) if names)
        return self.reading(float(np.mean(found)) if n else math.nan, attributes, parts, note)

    def _groups(self, attributes: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return the sets by name; an empty one means all attributes."""
        groups = [
            tuple(dict.fromkeys(name.strip() for name in group.split(","))) for group in self.groups.split(";") if group
        ]
        for name in (name for group in groups for name in group):
            if name not in attributes:
                raise ParameterError(unknown("RealAnonymity", "attribute (in groups)", name, attributes))
        return groups or [()]
