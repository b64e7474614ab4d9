"""Partition of records into classes, and the comparison of a table before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from shoal.display.card import Card, Shown
from shoal.types.coded import Coded, distances

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shoal.types.points import Confidential


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes that are partitioned together, and every record's class with respect to them.

    Attributes
    ----------
    attributes
        Their names; for bare points the numbers of the coordinates, or empty if there is one block.
    labels
        The class of every record.
    promised
        Whether every class is guaranteed at least k records, whatever the points. It is audited if so, and noted if
        not.
    values
        Coordinates to release, in the order of the points' coordinates, in place of the class means.
    note
        A note on the block for readers of the audit.
    promised_t
        Whether every class is guaranteed to be within t of the table, if t is required. It is audited if so, and
        noted if not.
    share
        The part of ε, above 0 and up to 1, that the method assumed for the noise of the block; None: it did not.
    moves
        For each coordinate, by how many widths of its domain the list of class means can move in total when one
        record is replaced by another. None: classes depend on the data, and nothing is known.
    strips
        If `moves` is known: the number of strips into which each coordinate's domain was cut to order it.
    atoms
        The class of every record before whole classes were united for the sake of confidential values; None: classes
        were formed at once.
    by_value
        Whether atoms depend on the values of records alone: ties were broken by value, equal records share an atom, and
        no strata were merged. If not, the order of rows may have decided.
    """

    attributes: tuple[str, ...]
    labels: NDArray[np.int64] = field(repr=False)
    promised: bool = True
    values: NDArray[np.float64] | None = field(default=None, repr=False)
    note: str = ""
    promised_t: bool = True
    share: float | None = None
    moves: tuple[float, ...] | None = None
    strips: tuple[int, ...] = ()
    atoms: NDArray[np.int64] | None = field(default=None, repr=False)
    by_value: bool = False

    @property
    def atom_labels(self) -> NDArray[np.int64]:
        """The atom of every record; without atoms, its class."""
        return self.labels if self.atoms is None else self.atoms

    def rows(self, order: NDArray[np.int64]) -> Block:
        """Return the block with its records in another order; one of them may occur several times."""
        values = None if self.values is None else self.values[order]
        atoms = None if self.atoms is None else self.atoms[order]
        return replace(self, labels=self.labels[order], values=values, atoms=atoms)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records of each class."""
        import numpy as np

        return np.bincount(self.labels).astype(np.int64)

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Shown):
    """The classes of the records: one block of attributes, or several disjoint blocks partitioned separately.

    >>> import numpy as np
    >>> part = Partition.of(np.array([0, 0, 1, 1, 1]))
    >>> len(part), part.sizes.tolist()
    (2, [2, 3])
    """

    blocks: tuple[Block, ...]
    note: str = ""  #: a note for the user on how it was formed

    @classmethod
    def of(cls, labels: NDArray[np.int64], attributes: Sequence[str] = ()) -> Partition:
        """Return the partition of one block."""
        return cls((Block(tuple(attributes), labels),))

    @classmethod
    def joined(cls, parts: Sequence[Partition], rows: Sequence[NDArray[np.int64]], note: str = "") -> Partition:
        """Join partitions of disjoint sets of rows, which must have the same blocks."""
        import numpy as np

        blocks = []
        for pieces in zip(*(part.blocks for part in parts), strict=True):
            first, n = pieces[0], sum(map(len, rows))
            labels, classes, begun = np.empty(n, np.int64), 0, 0
            values = None if first.values is None else np.empty((n, first.values.shape[1]))
            atoms = None if all(piece.atoms is None for piece in pieces) else np.empty(n, np.int64)
            for piece, where in zip(pieces, rows, strict=True):
                if piece.attributes != first.attributes:
                    raise ValueError("parts of a partition must have the same blocks")
                labels[where] = piece.labels + classes
                if atoms is not None:
                    own = piece.atom_labels
                    atoms[where], begun = own + begun, begun + int(own.max()) + 1
                classes += len(piece)
                if values is not None:
                    values[where] = piece.values
            notes = sorted({piece.note for piece in pieces if piece.note})  # whatever the order of strata
            promised, close = (all(getattr(piece, name) for piece in pieces) for name in ("promised", "promised_t"))
            share = first.share if all(piece.share == first.share for piece in pieces) else None
            joint = Block(first.attributes, labels, promised, values, "; ".join(notes), close, share=share)
            by_value = all(piece.by_value for piece in pieces)
            blocks.append(replace(joint, atoms=atoms, by_value=by_value))
        return cls(tuple(blocks), note)

    def _card(self) -> Card:
        from shoal.types.cards import partition_card

        return partition_card(self)

    def plot(self) -> Figure:
        """Draw the number of classes of each size; needs matplotlib (``shoal[plot]``)."""
        from shoal.types.figures import partition_figure

        return partition_figure(self)

    @cached_property
    def _all(self) -> Block:
        """The classes over all blocks: records that share a class in every one of them."""
        import numpy as np

        if len(self.blocks) == 1:
            return self.blocks[0]
        labels = self.blocks[0].labels
        for block in self.blocks[1:]:
            labels = np.unique(labels * len(block) + block.labels, return_inverse=True)[1].astype(np.int64)
        return Block(tuple(name for block in self.blocks for name in block.attributes), labels)

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of every record; with several blocks, records that share a class in all of them."""
        return self._all.labels

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records of each class."""
        return self._all.sizes

    def __len__(self) -> int:
        return len(self._all)


class Pair(NamedTuple):
    """A numeric column before and after, in its own unit: datetimes in days, NaN for a missing value."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]


class Codes(NamedTuple):
    """A column of categories before and after: indices into `names`, −1 for a missing value."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    names: tuple[str, ...]
    ordered: bool = False  #: names are sorted from lowest to highest


@dataclass(frozen=True, eq=False)
class Comparison:
    """Original and masked records on the same scale, row by row.

    Attributes
    ----------
    original, masked
        Coordinates, shape (n, d): numbers standardised by the original's mean and deviation. If an attribute has
        categories: numbers and codes, with the same groups of categories in both.
    owners
        For each coordinate or column of codes the attribute it belongs to.
    numbers, categories
        The attributes in their own units, and further requested columns: each is in one of them.
    classes
        For each record its class number, from 0: masked records that are equal in all attributes.
    strata
        The stratum number of each record; None without strata.
    confidential
        Confidential attributes, as released.
    positions
        For each original record its row among the released ones, from 0; −1 if it was not released. None: row by
        row.
    seed
        Random seed, for measures that use a sample.
    exact
        Masked records with exact means; None: not known.
    weights
        Sampling weights before and after; None without weights.
    sampling
        Sampling weights of the original records; None: not known.
    people
        For each record the number of its person, or of its group such as a household, if k counts them; None: records.
    population
        For each record the number of population records that belong to its masked values; None: not known.
    combinations
        For each record the number of the combination that these population records belong to; None: not known.
    pseudonyms
        Whether the release shows by pseudonyms which records belong to one person.
    """

    original: NDArray[np.float64] | Coded = field(repr=False)
    masked: NDArray[np.float64] | Coded = field(repr=False)
    owners: tuple[str, ...]
    numbers: Mapping[str, Pair] = field(default_factory=dict, repr=False)
    categories: Mapping[str, Codes] = field(default_factory=dict, repr=False)
    classes: NDArray[np.int64] | None = field(default=None, repr=False)
    strata: NDArray[np.int64] | None = field(default=None, repr=False)
    confidential: tuple[Confidential, ...] = ()
    positions: NDArray[np.int64] | None = field(default=None, repr=False)
    seed: int = 0
    exact: NDArray[np.float64] | Coded | None = field(default=None, repr=False)
    weights: Pair | None = field(default=None, repr=False)
    sampling: NDArray[np.float64] | None = field(default=None, repr=False)
    people: NDArray[np.int64] | None = field(default=None, repr=False)
    population: NDArray[np.int64] | None = field(default=None, repr=False)
    combinations: NDArray[np.int64] | None = field(default=None, repr=False)
    pseudonyms: bool = False

    def __len__(self) -> int:
        return len(self.original)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The compared attributes, each once."""
        return tuple(dict.fromkeys(self.owners))

    @property
    def numeric(self) -> tuple[str, ...]:
        """The numeric and datetime attributes."""
        return tuple(name for name in self.attributes if name in self.numbers)

    @property
    def places(self) -> dict[str, tuple[int, ...]]:
        """The coordinates or columns of codes of each attribute.

        >>> import numpy as np
        >>> Comparison(np.zeros((1, 3)), np.zeros((1, 3)), ("age", "work", "work")).places
        {'age': (0,), 'work': (1, 2)}
        """
        found: dict[str, list[int]] = {name: [] for name in self.attributes}
        for j, owner in enumerate(self.owners):
            found[owner].append(j)
        return {name: tuple(places) for name, places in found.items()}

    def rows(self, order: NDArray[np.int64]) -> Comparison:
        """Return the same records in another order; classes are numbered by first appearance."""
        import numpy as np

        classes = self.classes
        if classes is not None:
            _, first, own = np.unique(classes[order], return_index=True, return_inverse=True)
            classes = np.asarray(np.argsort(np.argsort(first))[own], np.int64)
        return replace(
            self,
            original=self.original[order],
            masked=self.masked[order],
            numbers={name: Pair(*(x[order] for x in pair)) for name, pair in self.numbers.items()},
            categories={
                name: codes._replace(before=codes.before[order], after=codes.after[order])
                for name, codes in self.categories.items()
            },
            classes=classes,
            strata=None if self.strata is None else self.strata[order],
            confidential=tuple(one.rows(order) for one in self.confidential),
            positions=None if self.positions is None else self.positions[order],
            exact=None if self.exact is None else self.exact[order],
            weights=None if self.weights is None else Pair(*(w[order] for w in self.weights)),
            sampling=None if self.sampling is None else self.sampling[order],
            people=None if self.people is None else self.people[order],
            population=None if self.population is None else self.population[order],
            combinations=None if self.combinations is None else self.combinations[order],
        )

    @cached_property
    def cache(self) -> dict[str, float]:
        """Sums that measures share."""
        return {}

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """Squared distances between original and masked values: (n, attributes)."""
        import numpy as np

        begins = [places[0] for places in self.places.values()]  # those of an attribute are adjacent
        every = distances(self.original, self.masked)
        return every if len(begins) == every.shape[1] else np.asarray(np.add.reduceat(every, begins, axis=1))
