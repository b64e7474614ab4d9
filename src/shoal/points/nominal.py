"""Categories without an order: codes and their tree; released as the most central one.

The leaves of a taxonomy also form a line, with those of a group next to each other, independent of the data. The
distance of two leaves is the height of their lowest common group over the height of the tree. It equals the largest
step from leaf to leaf between them in the line, because their lowest common group contains all leaves between. So it is
at most the sum of these steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.kernels.arithmetic.category_representative import (
    Tree,
    below,
    common_ancestor,
    levels_of,
    likest_leaf,
    likest_node,
    tree_of,
)
from shoal.points._digits import no_resolution
from shoal.points.codes import as_column
from shoal.types import (
    Axis,
    Categories,
    CodedColumn,
    Column,
    Cut,
    Kind,
    Resolution,
    Taxonomy,
    called,
)
from shoal.types.protocols import Encoder


@dataclass(frozen=True, eq=False)
class Nominal(Encoder):
    """Attribute of categories, all at distance 1 or at the distances of their taxonomy.

    >>> from shoal.types import Role
    >>> work = Column("work", Role.QUASI, Kind.NOMINAL)
    >>> found = Nominal.of(work, pa.chunked_array([["nurse", "baker", "nurse", None]]), "category")
    >>> found.coded().codes.tolist()
    [1, 0, 1, 2]
    >>> found.centroid(np.zeros(4, np.int64), None, resolution=None).to_pylist()
    ['nurse', 'nurse', 'nurse', 'nurse']
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.NOMINAL,)

    name: str
    codes: NDArray[np.int64] = field(repr=False)  #: the category of each record; −1: missing
    tree: Tree
    apart: bool  #: whether missing values form a category of their own
    categories: pa.Array = field(repr=False)  #: the categories as stored in the column, in tree order
    type: pa.DataType

    @classmethod
    def of(cls, column: Column, cells: pa.ChunkedArray, missing: str, leaves: pa.DataType | None = None) -> Nominal:
        """Encode a column of any comparable values; `missing`: ``category`` or ``fill``."""
        codes, found = told_apart(column.name, cells)
        names = [called(value) for value in found.to_pylist()]
        if column.taxonomy is not None:
            _known(column, names, codes)
        order = sorted(range(len(names)), key=names.__getitem__)
        place = np.empty(len(names) + 1, np.int64)
        place[order], place[-1] = np.arange(len(names)), -1
        tree = tree_of([names[at] for at in order], column.taxonomy)
        return cls(column.name, place[codes], tree, missing == "category", found.take(_indices(order)), cells.type)

    @property
    def _middle(self) -> int:
        """The category with the least total distance to all others, where missing values are put if not `apart`."""
        return int(self.most_central(np.zeros(len(self.codes), np.int64), None)[0])

    def coded(self) -> CodedColumn:
        """Return the categories as codes; a missing value is a separate category, or gets the most central one."""
        return self.beside(())[0]

    def beside(self, columns: Sequence[pa.ChunkedArray]) -> tuple[CodedColumn, list[NDArray[np.int32]]]:
        """Return the same, and the codes of other columns with categories, groups of the tree, and other values.

        Other values are at the largest distance from all categories, and equal to each other.
        """
        told = [told_apart(self.name, column) for column in columns]
        place = {name: at for at, name in reversed(list(enumerate(self.tree.names)))}  # categories before groups
        nodes = [np.array([place.get(called(one), -1) for one in found.to_pylist()], np.int64) for _, found in told]
        groups = np.unique(np.concatenate([np.zeros(0, np.int64), *nodes]))
        groups = groups[groups >= self.tree.categories]
        missing = self.codes < 0
        lacking = bool(missing.any())
        apart = self.apart if lacking else any(column.null_count for column in columns)
        strange = any(bool((its < 0).any()) for its in nodes)
        number, low, high, times = levels_of(self.tree, apart + strange, groups)
        codes = np.full(len(self.tree.names) + 2, -1, np.int32)  # of categories and groups, a missing, another value
        codes[: self.tree.categories] = number[: self.tree.categories]
        codes[groups] = number[self.tree.categories : self.tree.categories + len(groups)]
        codes[-2] = number[-1 - strange] if apart else codes[self._middle] if lacking else -1
        codes[-1] = number[-1]
        return CodedColumn(codes[np.where(missing, -2, self.codes)], low, high, times), [
            codes[np.append(its, -2)[of]] for (of, _), its in zip(told, nodes, strict=True)
        ]

    def resolution(self, declared: float | str | None) -> Resolution:
        """Return None: categories are not rounded."""
        return no_resolution(self.name, declared)

    def centroid(
        self,
        labels: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
        *,
        resolution: Resolution,
        categories: Categories = "leaf",
        trim: float = 0.0,
    ) -> pa.Array:
        """Return for each record the category or group that represents its class, ties to the first by name.

        A class is released without a value if missing values form a category and that is nearest, or if all are
        missing.
        """
        chosen = self.most_central(labels, weights, categories)[labels]
        if categories == "leaf":
            return as_column(chosen, self.categories, self.type)
        names = list(dict.fromkeys(self.tree.names))  # a group may have the name of one of its categories
        place = {name: at for at, name in enumerate(names)}
        new = np.array([*(place[name] for name in self.tree.names), -1], np.int64)
        return as_column(new[chosen], pa.array(names, pa.string()), _type_of_names(self.type))

    def most_central(
        self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None, categories: Categories = "leaf"
    ) -> NDArray[np.int64]:
        """Return the category or group that represents each class; −1: none.

        ``leaf``: the category of least total distance; ``node``: the category or group; ``ancestor``: the lowest group
        that contains all. A missing value that is a category is a child of the root, next to all groups.
        """
        missing, classes = len(self.tree.names), int(labels.max(initial=-1)) + 1
        parent, height = np.append(self.tree.parent, self.tree.root), np.append(self.tree.height, 0)
        codes = np.where(self.codes < 0, missing, self.codes)
        if categories == "ancestor":
            weights = None
        if not self.apart:
            there = self.codes >= 0
            labels, codes = labels[there], codes[there]
            weights = None if weights is None else weights[there]
        inside = below(parent, labels, codes, weights, classes)
        if categories == "leaf":
            chosen = likest_leaf(parent, height, inside)
        else:
            chosen = (likest_node if categories == "node" else common_ancestor)(height, inside)
        return np.where(chosen == missing, -1, chosen)


def _type_of_names(kind: pa.DataType) -> pa.DataType:
    """Return a type for group names: the column's own if it holds text."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _type_of_names(kind.value_type))
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return kind if any(is_text(kind) for is_text in text) else pa.string()


def told_apart(name: str, cells: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the code of each record's value, and the values; a missing one has the code after the last."""
    try:
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        if pa.types.is_string_view(cells.type):  # Arrow cannot take from string views
            cells = cells.cast(pa.string())
        encoded = cells.combine_chunks().dictionary_encode(null_encoding="mask")
    except pa.ArrowException:
        raise SchemaError(
            f"Column {name!r}: values of type {cells.type} cannot be compared. Give it another role."
        ) from None
    codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy().astype(np.int64)
    return codes, encoded.dictionary


def _known(column: Column, names: list[str], codes: NDArray[np.int64]) -> None:
    assert column.taxonomy is not None
    strange = np.array([name not in column.taxonomy.paths for name in names], np.bool_)
    if strange.any():
        records = int(np.isin(codes, np.flatnonzero(strange)).sum())
        raise DataError(
            f"Column {column.name!r}: every value must be in its taxonomy; {int(strange.sum()):,} of {len(names):,} "
            f"are not, in {records:,} of {len(codes):,} records. Add them to the taxonomy."
        )


def _indices(order: list[int]) -> pa.Array:
    return pa.array(order, pa.int64())


def line_of(taxonomy: Taxonomy) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Return the line of leaves, groups in the order of their names, and the distance of each leaf to the next.

    >>> line_of(Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)}))
    (('ulcer', 'asthma', 'flu'), array([1. , 0.5]))
    """
    names = sorted(taxonomy.paths, key=lambda name: (*taxonomy.paths[name], name))
    height: dict[tuple[str, ...], int] = {}
    for path in taxonomy.paths.values():
        for depth in range(len(path) + 1):
            height[path[:depth]] = max(height.get(path[:depth], 0), len(path) + 1 - depth)
    steps = [height[_shared(taxonomy.paths[a], taxonomy.paths[b])] / height[()] for a, b in pairwise(names)]
    return tuple(names), np.array(steps, np.float64)


def cuts_of(taxonomy: Taxonomy) -> dict[int, Cut]:
    """Return the cuts of the line by the groups of one depth, keyed by the number of cells.

    A leaf that lies higher is a cell of its own. Two depths with equally many cells have the same cells, because a
    deeper one only cuts further.
    """
    names, steps = line_of(taxonomy)
    found = {}
    for depth in range(taxonomy.height + 1):
        keys = [_cell(taxonomy.paths[name], name, depth) for name in names]
        border = np.array([a != b for a, b in pairwise(keys)], np.bool_)
        cells = np.concatenate(([0], np.cumsum(border))).astype(np.int64)
        within = float(steps[~border].max(initial=0.0))
        found[int(cells[-1]) + 1] = Cut(within, math.fsum(steps[border].tolist()), cells)
    return found


def axis_of(name: str, column: pa.ChunkedArray, taxonomy: Taxonomy) -> Axis:
    """Return the domain of a column of categories in a line; all its values must be in the taxonomy."""
    names, steps = line_of(taxonomy)
    place = {leaf: at for at, leaf in enumerate(names)}
    codes, values = told_apart(name, column)
    own = np.array([*(place[called(value)] for value in values.to_pylist()), -1], np.float64)  # none is missing
    return Axis(name, own[codes], math.fsum(steps.tolist()), cuts_of(taxonomy))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the path of the lowest group that contains both leaves."""
    both = zip(one, other, strict=False)
    return one[: next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))]


def _cell(path: tuple[str, ...], name: str, depth: int) -> tuple[tuple[str, ...], str | None]:
    """Return the group of a leaf at a depth, or the leaf itself if it lies higher."""
    return (path[:depth], None) if depth <= len(path) else (path, name)
