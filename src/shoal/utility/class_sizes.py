"""Class sizes: how many records share the released values, at least, on average and at most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.types import Comparison, Measure, Reading
from shoal.utility._columns import MOST


@dataclass(frozen=True)
class ClassSizes(Measure):
    """Size of the smallest class; parts are the average, the largest, and the number of classes of each size.

    Classes are masked records that are equal in all compared attributes. Larger classes protect more and preserve less,
    so neither direction is better.

    **Guarantee.** The value is k of the compared attributes: the k-anonymity of the masked table.

    **Complexity.** O(n).

    **Departures.** None: there is no paper. If there are very many sizes, the largest are counted together.

    >>> comparison = Comparison(np.zeros((5, 1)), np.zeros((5, 1)), ("age",), classes=np.array([0, 0, 1, 1, 1]))
    >>> ClassSizes().measure(comparison).parts
    (('classes', 2.0), ('average', 2.5), ('largest', 3.0), ('of 2', 1.0), ('of 3', 1.0))
    """

    exchangeable: ClassVar[bool] = True
    unpaired: ClassVar[bool] = True
    goal: ClassVar[str] = ""
    range: ClassVar[tuple[float, float]] = (1.0, math.inf)

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the sizes of classes."""
        if comparison.classes is None or not len(comparison.classes):
            return self.undefined("no classes were formed")
        sizes = np.bincount(comparison.classes)
        found, counts = np.unique(sizes[sizes > 0], return_counts=True)
        most = MOST - 4
        parts = [("classes", float(counts.sum())), ("average", float(len(comparison) / counts.sum()))]
        parts += [("largest", float(found[-1]))]
        parts += [(f"of {size}", float(count)) for size, count in zip(found[:most], counts[:most], strict=True)]
        if len(found) > most:
            parts.append((f"of {found[most]} and more", float(counts[most:].sum())))
        names = comparison.attributes
        return self.reading(float(found[0]), names, parts=tuple(parts))
