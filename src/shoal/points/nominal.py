"""Categories without an order: codes, or a coordinate for each edge of their tree; released as the most central one.

The leaves of a taxonomy also form a line, with those of a group next to each other, independent of the data. The
distance of two leaves is the height of their lowest common group over the height of the tree. It equals the largest
step from leaf to leaf between them in the line, because their lowest common group contains all leaves between. So it is
at most the sum of these steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
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
    Footing,
    Kind,
    Placed,
    Resolution,
    Scale,
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
    >>> x = found.place(lambda values: Footing(0.0, 1.0, 0)).coordinates
    >>> [round(float(((x[0] - x[i]) ** 2).sum()), 12) for i in range(4)]
    [0.0, 1.0, 0.0, 1.0]
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
    room: frozenset[str] = frozenset()  #: for values that no record has: ``missing`` values, ``other`` categories

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
    def _embedding(self) -> NDArray[np.float64]:
        """Return the coordinates of each category and group, of a missing value, and of a category outside the tree."""
        inside = self.tree.embedding
        nodes, edges = inside.shape
        lacking = bool((self.codes < 0).any())
        beside = (lacking and self.apart) or "missing" in self.room
        table = np.zeros((nodes + 2, edges + beside + ("other" in self.room)))
        table[:nodes, :edges] = inside
        # next to all groups, at the largest distance from every category
        if beside:
            table[nodes, edges] = np.sqrt(0.5)
        elif lacking and not (self.codes < 0).all():
            table[nodes, :edges] = inside[self._middle]
        if "other" in self.room:
            table[nodes + 1, -1] = np.sqrt(0.5)
        return table

    @property
    def _middle(self) -> int:
        """The category with the least total distance to all others, where missing values are put if not `apart`."""
        return int(self.most_central(np.zeros(len(self.codes), np.int64), None)[0])

    def coded(self) -> CodedColumn:
        """Return the categories as codes; a missing value is a category of its own, or put at the most central one."""
        missing = self.codes < 0
        lacking = bool(missing.any())
        number, low, high, times = levels_of(self.tree, lacking and self.apart)
        put = len(number) - 1 if self.apart else self._middle if lacking else 0
        return CodedColumn(number[np.where(missing, put, self.codes)], low, high, times)

    def place(self, scale: Scale) -> Placed:
        """Return a coordinate for each edge; categories have no unit, and are not scaled."""
        coordinates = self._embedding[np.where(self.codes < 0, len(self.tree.names), self.codes)]
        return Placed(coordinates, (Footing(0.0, 1.0, 0),) * coordinates.shape[1])

    def with_room(self, column: pa.ChunkedArray) -> Nominal:
        """Return the attribute with room for the values of another column that this one lacks."""
        _, found = told_apart(self.name, column)
        known = set(self.tree.names)
        others = {"other"} if any(called(value) not in known for value in found.to_pylist()) else set()
        lacking = {"missing"} if column.null_count and not (self.codes < 0).any() else set()
        return replace(self, room=frozenset(others | lacking))

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinates of categories or groups; others need room."""
        codes, found = told_apart(self.name, column)
        nodes = len(self.tree.names)
        number = {name: at for at, name in reversed(list(enumerate(self.tree.names)))}  # categories before groups
        places = [number.get(called(value), nodes + 1) for value in found.to_pylist()]
        return np.asarray(self._embedding[np.array([*places, nodes], np.int64)[codes]])

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
            f"Column {column.name!r}: every value must be in its taxonomy, {int(strange.sum()):,} of {len(names):,} "
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
