"""Comparison of a table before and after, row by row, for measures of utility and risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.types.space.points import Confidential


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
        Coordinates, shape (n, d): numbers standardised by the original's mean and deviation.
    owners
        For each coordinate the attribute it belongs to.
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
        Masked coordinates with exact means; None: not known.
    weights
        Sampling weights before and after; None without weights.
    """

    original: NDArray[np.float64] = field(repr=False)
    masked: NDArray[np.float64] = field(repr=False)
    owners: tuple[str, ...]
    numbers: Mapping[str, Pair] = field(default_factory=dict, repr=False)
    categories: Mapping[str, Codes] = field(default_factory=dict, repr=False)
    classes: NDArray[np.int64] | None = field(default=None, repr=False)
    strata: NDArray[np.int64] | None = field(default=None, repr=False)
    confidential: tuple[Confidential, ...] = ()
    positions: NDArray[np.int64] | None = field(default=None, repr=False)
    seed: int = 0
    exact: NDArray[np.float64] | None = field(default=None, repr=False)
    weights: Pair | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return int(self.original.shape[0])

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
        """The coordinates of each attribute.

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
        )

    @cached_property
    def cache(self) -> dict[str, float]:
        """Sums that measures share."""
        return {}

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """Squared distances between original and masked values: (n, attributes)."""
        import numpy as np

        begins = [places[0] for places in self.places.values()]  # coordinates of an attribute are adjacent
        every = (self.original - self.masked) ** 2
        return every if len(begins) == every.shape[1] else np.asarray(np.add.reduceat(every, begins, axis=1))
