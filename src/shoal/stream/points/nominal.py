"""Unordered categories: a coordinate per edge of their tree; the centroid is the most central category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.category_representative import Tree, below, likest_leaf, tree_of
from shoal.stream.points._cells import Categories
from shoal.types import Kind, called
from shoal.types.stream import Known


@dataclass(frozen=True)
class Nominal(Categories):
    """An attribute of categories at distance 1 from each other, or as far apart as their taxonomy says.

    >>> work = Nominal.of(Known("work", Kind.NOMINAL, categories=("nurse", "baker")))
    >>> taken = work.take(["nurse", "baker", "nurse", "king"])
    >>> x = work.place(taken.values)
    >>> [round(float(((x[0] - x[i]) ** 2).sum()), 12) for i in range(3)], taken.faults[0][0]
    ([0.0, 1.0, 0.0], 3)
    >>> work.plain(work.centroid(taken.values[:3], np.array([3])))
    ['nurse']
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.NOMINAL,)

    tree: Tree  #: of the categories, sorted by name

    @classmethod
    def of(cls, known: Known) -> Nominal:
        """Make the attribute from its declaration."""
        given = known.categories or tuple(known.taxonomy.paths if known.taxonomy is not None else ())
        categories = tuple(sorted(given, key=called))
        tree = tree_of([called(category) for category in categories], known.taxonomy)
        return cls(known.name, categories, "its taxonomy" if known.taxonomy is not None else "its categories", tree)

    @cached_property
    def _embedding(self) -> NDArray[np.float64]:
        return self.tree.embedding[: len(self.categories)]

    @property
    def middle(self) -> NDArray[np.float64]:
        """The mean of all categories."""
        return np.asarray(self._embedding.mean(axis=0))

    def place(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return a coordinate for each edge."""
        return np.asarray(self._embedding[values])

    def centroid(self, values: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[Any]:
        """Return the category with the least total distance to each class; ties go to the first by name."""
        if not len(sizes):
            return np.empty(0, np.int64)
        labels = np.repeat(np.arange(len(sizes)), sizes)
        inside = below(self.tree.parent, labels, values, None, len(sizes))
        return likest_leaf(self.tree.parent, self.tree.height, inside)
