"""Unordered categories: a code per level of their tree; the centroid is the most central category."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arithmetic.category_representative import Tree, below, levels_of, likest_leaf, tree_of
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

    @cached_property
    def _levels(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The group of each category at each level, and the share of the levels that each row of groups stands for."""
        number, low, _, times = levels_of(self.tree, beside=False)
        groups = np.array([np.unique(row, return_inverse=True)[1] for row in low])
        return groups[:, number].T.astype(np.int64), times / times.sum()

    @property
    def groups(self) -> NDArray[np.int64]:
        """The group of each category at each level."""
        return self._levels[0]

    @property
    def steps(self) -> NDArray[np.float64]:
        """The squared distance of two values that differ at a level: their sum is 1."""
        return self._levels[1]

    @cached_property
    def from_middle(self) -> NDArray[np.float64]:
        """The squared distance of each category from the mean of all."""
        groups, steps = self._levels
        found, count = np.zeros(len(groups)), len(groups)
        for column, step in zip(groups.T, steps, strict=True):
            share = np.bincount(column) / count
            found += step * (1.0 + (share**2).sum() - 2.0 * share[column]) / 2.0
        return found

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
