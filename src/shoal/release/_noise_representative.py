"""Representative of a class that noise is added to: the mean of its members, or its medoid.

A medoid is a class of one record. So everything known about means applies unchanged, with one record per class:

**With classes held fixed**, the medoid of class C depends on the members of C alone, because distances are measured in
widths of the domain and in heights of the taxonomy, never in deviations of the data. So classes compose in parallel, as
with means. If one member changes, another member may become the most central one: for 0, 0, 1 it is 0, for 0, 1, 1 it
is 1. No value moves by more than the width of its domain, so this is the sensitivity: ΔD, and **not** ΔD/|C|. It is
reached, in all attributes at once and for any class size; so nothing less would do.

**For original records**, with the classes of the method insensitive: let D have the records s₁ ≤ … ≤ s_n in the order
of the domain, and let D′ be D with one record replaced by a later one (otherwise exchange roles). Then sᵢ ≤ s′ᵢ ≤ sᵢ₊₁
for all i, with s_{n+1} the end of the order. A class takes the places p … q, so that its members lie between s_p and
s_{q+1}, both before and after, and so do both of its medoids. These G stretches of the order follow one another. Within
one, the distance of two records is at most its longest step of the kind that the proof of insensitive counts: in a
coordinate cut into strips (strips crossed + 1)/s, in the last coordinate the distance covered there. Summed over the
stretches this is what `moves` counts, before it is divided by the size: so the list of medoids moves by at most `moves`
times the size of a class. Classes with the same records have the same medoid, in any row order: among several that are
equally near, the lowest in the attributes is taken. ∎
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.release._noise_sampler import Noise, exact_means, noisy
from shoal.types import Block, Domain, Table, Taxonomy, called


def distances(taxonomy: Taxonomy) -> tuple[list[str], NDArray[np.float64]]:
    """Return the categories of a taxonomy by name, and their distances, at most 1.

    The distance of two is the height of their lowest common group over the height of the tree. All categories of the
    taxonomy are included, whether a record has them or not.

    >>> names, apart = distances(Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)}))
    >>> names, apart[0].tolist()
    (['asthma', 'flu', 'ulcer'], [0.0, 0.5, 1.0])
    """
    names, heights, whole = _heights(taxonomy)
    return names, heights / whole


def _heights(taxonomy: Taxonomy) -> tuple[list[str], NDArray[np.float64], int]:
    """Return the categories, the height of the lowest common group of any two, and the height of the tree."""
    names = sorted(taxonomy.paths)
    height: dict[tuple[str, ...], int] = {}
    for path in taxonomy.paths.values():
        for depth in range(len(path) + 1):
            height[path[:depth]] = max(height.get(path[:depth], 0), len(path) + 1 - depth)
    found = np.zeros((len(names), len(names)))
    for i, one in enumerate(names):
        for j, other in enumerate(names[:i]):
            a, b = taxonomy.paths[one], taxonomy.paths[other]
            shared = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            found[i, j] = found[j, i] = height[a[:shared]]
    return names, found, height[()]


def codes_of(column: pa.ChunkedArray, taxonomy: Taxonomy) -> NDArray[np.int64]:
    """Return the number of each record's category, in the order of names."""
    place = {name: at for at, name in enumerate(sorted(taxonomy.paths))}
    coded = column.combine_chunks().dictionary_encode()
    own = np.array([place[called(value)] for value in coded.dictionary.to_pylist()], np.int64)
    return np.asarray(own[coded.indices.to_numpy()])


def mean_distances(codes: NDArray[np.int64], taxonomy: Taxonomy, block: Block) -> NDArray[np.float64]:
    """Return the mean distance of each category to the members of each class, rounded once, from integers."""
    _, heights, whole = _heights(taxonomy)
    counts = np.zeros((len(block), len(heights)))
    np.add.at(counts, (block.labels, codes), 1.0)
    return np.asarray((counts @ heights) / (whole * block.sizes[:, None]))


def chosen(
    column: pa.ChunkedArray, taxonomy: Taxonomy, block: Block, cost: tuple[NDArray[np.float64], float], noise: Noise
) -> tuple[pa.Array, NDArray[np.float64]]:
    """Return the category of each class, and the scale of the noise of each class.

    The score of a category is minus its mean distance to the members of the class. If one member changes, every score
    changes by at most 1/|C|, because no distance is above 1: that is the first entry of `cost`, for each class. The
    other is ε.

    If the first entry of `cost` is one number, one record may change many classes, and the changes of their scores add
    up to it. A class whose scores change by δ costs 2δ/b with noise of scale b, so all of them together cost no more
    than a single class whose scores change by the total: by sequential composition that is ε.
    """
    reach, epsilon = cost
    scores = -mean_distances(codes_of(column, taxonomy), taxonomy, block)
    every = np.broadcast_to(reach, len(block))
    picked, scales = np.empty(len(block), np.int64), np.empty(len(block))
    for one in np.unique(every):  # classes of one size at once
        where = np.flatnonzero(every == one)
        picked[where], scales[where] = noise.choose(scores[where], float(one), epsilon)
    return pa.array(sorted(taxonomy.paths), pa.string()).take(pa.array(picked)), scales


def as_declared(values: pa.Array, taxonomy: Taxonomy) -> pa.Array:
    """Return drawn categories as a dictionary of all categories of the taxonomy, by name.

    So neither the categories nor their order disclose which ones were drawn, or which ones occur in the data.
    """
    names = pa.array(sorted(taxonomy.paths), pa.string())
    return pa.DictionaryArray.from_arrays(pc.index_in(values, value_set=names), names)


_TIE = 1e-9  # in squared widths of the domain: records within this tolerance are equally near


@dataclass(frozen=True, eq=False)
class StandIns:
    """Records that represent the classes of a block.

    Attributes
    ----------
    rows
        The records: all of them, or one of each class.
    block
        Their classes, and how far one record can move these.
    """

    rows: NDArray[np.int64] = field(repr=False)
    block: Block


#: Distance of each record to its class in each attribute of a block: squared, in widths or heights of the domain.
Near = Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]


def all_members(block: Block, near: Callable[[], Near]) -> StandIns:
    """Represent each class by the mean of all members; distances do not matter."""
    return StandIns(np.arange(len(block.labels)), block)


def most_central(block: Block, near: Callable[[], Near]) -> StandIns:
    """Represent each class by one member: the medoid, whose total distance to all members is least.

    `near` returns for each attribute the ranks of values in the domain, and the distance of each record to its class.
    """
    far, ranks = np.zeros(len(block.labels)), []
    for own, distance in near().values():
        ranks.append(own)
        far += distance
    least = np.full(len(block), np.inf)
    np.minimum.at(least, block.labels, far)
    nearest = far - least[block.labels] <= _TIE
    order = np.lexsort((*ranks[::-1], ~nearest, block.labels))
    rows = order[np.unique(block.labels[order], return_index=True)[1]]
    moves = None if block.moves is None else tuple(step * float(block.sizes.min()) for step in block.moves)
    return StandIns(rows, replace(block, labels=np.arange(len(block)), moves=moves))


#: By name of the representative.
STAND_INS: Mapping[str, Callable[[Block, Callable[[], Near]], StandIns]] = {
    "mean": all_members,
    "medoid": most_central,
}


def off_mean(unit: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the squared distance of each number, from 0 to 1, to the mean of its class.

    Within a class, it differs from the mean squared distance to all members by the same constant for each of them.
    """
    return np.asarray((unit - exact_means(unit, labels)[labels]) ** 2)


@dataclass(frozen=True, eq=False)
class Cells:
    """Quasi-identifiers of a table, and their domains.

    Attributes
    ----------
    table
        The table, with cells read as values.
    numbers
        The values of each attribute of numbers.
    limits
        The bounds of each attribute.
    """

    table: Table
    numbers: Mapping[str, NDArray[np.float64]] = field(repr=False)
    limits: Mapping[str, Domain]

    def width(self, name: str) -> float:
        """Return the largest distance of two values; at most 1 for categories."""
        return self.limits[name].width if name in self.limits else 1.0

    def mechanism(self, name: str) -> str:
        """Return the name of the mechanism that draws a value."""
        return "laplace" if name in self.limits else "exponential"

    def near(self, block: Block) -> Near:
        """Return for each attribute of a block the ranks of values, and the distance of each record to its class."""
        found = {}
        for name in block.attributes:
            if name in self.limits:
                unit = self.limits[name].unit(self.numbers[name])
                found[name] = unit, off_mean(unit, block.labels)
            else:
                codes = codes_of(self.table.data.column(name), self._taxonomy(name))
                far = mean_distances(codes, self._taxonomy(name), block)
                found[name] = codes.astype(np.float64), far[block.labels, codes]
        return found

    def drawn(
        self, name: str, stand: StandIns, cost: tuple[NDArray[np.float64], float], noise: Noise
    ) -> tuple[NDArray[np.float64] | pa.Array, NDArray[np.float64]]:
        """Return the noisy value of each class, and the scale of its noise.

        `cost` holds the largest change of the value of each class (or, as one number, of the list of all), and ε.
        """
        if name in self.limits:
            return noisy(self.numbers[name][stand.rows], stand.block.labels, self.limits[name], cost, noise)
        column = self.table.data.column(name).take(stand.rows)
        return chosen(column, self._taxonomy(name), stand.block, cost, noise)

    def _taxonomy(self, name: str) -> Taxonomy:
        found = self.table.schema[name].taxonomy
        assert found is not None  # otherwise it was refused
        return found
