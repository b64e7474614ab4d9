"""Categories without an order: a coordinate for each edge of their tree; the centroid is the likest category."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError, SchemaError
from shoal.points._tree import Tree, tree_of
from shoal.types import Column, Footing, Kind, Placed, Scale

if TYPE_CHECKING:
    import pyarrow as pa

_TIE = 1e-9  # scores that are as near as this are the same


@dataclass(frozen=True, eq=False)
class Nominal:
    """An attribute of categories, all 1 apart or as far as their taxonomy says.

    >>> import pyarrow as pa
    >>> from shoal.types import Role
    >>> work = Column("work", Role.QUASI, Kind.NOMINAL)
    >>> found = Nominal.encode(work, pa.chunked_array([["nurse", "baker", "nurse", None]]), "category")
    >>> x = found.place(lambda values: Footing(0.0, 1.0, 0)).coordinates
    >>> [round(float(((x[0] - x[i]) ** 2).sum()), 12) for i in range(4)]
    [0.0, 1.0, 0.0, 1.0]
    >>> found.centroid(np.zeros(4, np.int64), None, whole=False).to_pylist()
    ['nurse', 'nurse', 'nurse', 'nurse']
    """

    kinds: ClassVar[tuple[Kind, ...]] = (Kind.NOMINAL,)
    tells_apart: ClassVar[bool] = True  #: a missing value can be one more category

    name: str
    codes: NDArray[np.int64] = field(repr=False)  #: the category of each record; −1: missing
    tree: Tree
    apart: bool  #: whether a missing value is a category of its own
    categories: pa.Array = field(repr=False)  #: the categories as the column has them, in the order of the tree
    type: pa.DataType

    @classmethod
    def encode(cls, column: Column, cells: pa.ChunkedArray, missing: str) -> Nominal:
        """Take a column of anything that can be told apart; `missing`: ``category`` or ``fill``."""
        codes, found = told_apart(column.name, cells)
        names = [str(value) for value in found.to_pylist()]
        if column.taxonomy is not None:
            _known(column, names, codes)
        order = sorted(range(len(names)), key=names.__getitem__)
        place = np.empty(len(names) + 1, np.int64)
        place[order], place[-1] = np.arange(len(names)), -1
        tree = tree_of([names[at] for at in order], column.taxonomy)
        return cls(column.name, place[codes], tree, missing == "category", found.take(_indices(order)), cells.type)

    @property
    def _embedding(self) -> NDArray[np.float64]:
        """Coordinates of each category and group, and last of a missing value."""
        inside = self.tree.embedding
        if not (self.codes < 0).any():
            return np.vstack((inside, np.zeros(inside.shape[1])))
        if self.apart:  # beside all groups, as far from each category as any can be
            table = np.zeros((len(inside) + 1, inside.shape[1] + 1))
            table[:-1, :-1], table[-1, -1] = inside, np.sqrt(0.5)
            return table
        there = self.codes[self.codes >= 0]
        middle = inside[there].mean(axis=0) if len(there) else np.zeros(inside.shape[1])
        return np.vstack((inside, middle))

    def place(self, scale: Scale) -> Placed:
        """Return a coordinate for each edge; categories have no unit, and are not scaled."""
        coordinates = self._embedding[self.codes]
        return Placed(coordinates, (Footing(0.0, 1.0, 0),) * coordinates.shape[1])

    def like(self, column: pa.ChunkedArray, placed: Placed) -> NDArray[np.float64]:
        """Return the coordinates of categories or groups; what is neither is at the root."""
        codes, found = told_apart(self.name, column)
        number = {name: at for at, name in reversed(list(enumerate(self.tree.names)))}  # categories before groups
        missing = len(self.tree.names) if (self.codes < 0).any() else self.tree.root
        places = [number.get(str(value), self.tree.root) for value in found.to_pylist()]
        return np.asarray(self._embedding[np.array([*places, missing], np.int64)[codes]])

    def centroid(self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None, *, whole: bool) -> pa.Array:
        """Return for each record the category of least total distance to its class; of several the first by name.

        A class leaves without a value if that is as near, and a missing value is a category; or if nobody has one.
        """
        import pyarrow as pa

        chosen = self.likest(labels, weights)
        if len(chosen) <= labels.max():  # the last classes have no value at all
            chosen = np.append(chosen, np.full(int(labels.max()) + 1 - len(chosen), -1))
        places = pa.array(chosen[labels].astype(np.int32), mask=chosen[labels] < 0)
        if pa.types.is_dictionary(self.type):
            return pa.DictionaryArray.from_arrays(places, self.categories).cast(self.type)
        return self.categories.take(places)

    def likest(self, labels: NDArray[np.int64], weights: NDArray[np.float64] | None) -> NDArray[np.int64]:
        """Return the category of least total distance to each class; −1: none.

        The total squared distance of a class to a point is least where the point is nearest to the class's mean, and in
        a tree no category is nearer than all that members have. So those of the members are looked at.
        """
        embedding, last = self._embedding, len(self.tree.names)
        codes = np.where(self.codes < 0, last, self.codes)
        if not self.apart:
            labels, codes, weights = _only(self.codes >= 0, labels, codes, weights)
        classes = int(labels.max(initial=-1)) + 1
        pairs, inverse = np.unique(labels * (last + 1) + codes, return_inverse=True)
        count = np.bincount(inverse, weights, len(pairs)).astype(np.float64)
        of, code = pairs // (last + 1), pairs % (last + 1)
        total = np.zeros((classes, embedding.shape[1]))
        np.add.at(total, of, count[:, None] * embedding[code])
        size = np.bincount(of, count, classes)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = total / size[:, None]
        near = ((embedding[code] - mean[of]) ** 2).sum(axis=1)
        near[size[of] == 0] = 0.0  # weights that are all 0
        order = np.lexsort((code, np.rint(near / _TIE), of))
        first = order[np.concatenate(([True], of[order][1:] != of[order][:-1]))[: len(order)]]
        chosen = np.full(classes, -1, np.int64)
        chosen[of[first]] = np.where(code[first] == last, -1, code[first])
        return chosen


def _only(
    there: NDArray[np.bool_], labels: NDArray[np.int64], codes: NDArray[np.int64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64] | None]:
    return labels[there], codes[there], None if weights is None else weights[there]


def told_apart(name: str, cells: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the number of the value of each record, and the values; a missing one is the number after the last."""
    import pyarrow as pa

    try:
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        encoded = cells.combine_chunks().dictionary_encode(null_encoding="mask")
    except pa.ArrowException:
        raise SchemaError(f"Column {name!r}: {cells.type} cannot be told apart. Give it another role.") from None
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
    import pyarrow as pa

    return pa.array(order, pa.int64())
