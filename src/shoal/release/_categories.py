"""The exponential mechanism over a taxonomy: a category that is near the members of a class, by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.types import Block, Taxonomy, called

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.release._noise import Noise


def distances(taxonomy: Taxonomy) -> tuple[list[str], NDArray[np.float64]]:
    """Return the categories of a taxonomy by name, and how far they are apart: 1 at most.

    Two are as far apart as their lowest common group is high, over the height of the tree. All categories of the
    taxonomy are there, whether a record has them or not.

    >>> names, apart = distances(Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)}))
    >>> names, apart[0].tolist()
    (['asthma', 'flu', 'ulcer'], [0.0, 0.5, 1.0])
    """
    names, heights, whole = _heights(taxonomy)
    return names, heights / whole


def _heights(taxonomy: Taxonomy) -> tuple[list[str], NDArray[np.float64], int]:
    """Return the categories, how high the lowest common group of any two is, and how high the tree."""
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
    """Return for each record the number of its category, in the order of names."""
    place = {name: at for at, name in enumerate(sorted(taxonomy.paths))}
    coded = column.combine_chunks().dictionary_encode()
    own = np.array([place[called(value)] for value in coded.dictionary.to_pylist()], np.int64)
    return np.asarray(own[coded.indices.to_numpy()])


def mean_distances(codes: NDArray[np.int64], taxonomy: Taxonomy, block: Block) -> NDArray[np.float64]:
    """Return for each class and category the mean distance to the members; rounded once, from whole numbers."""
    _, heights, whole = _heights(taxonomy)
    counts = np.zeros((len(block), len(heights)))
    np.add.at(counts, (block.labels, codes), 1.0)
    return np.asarray((counts @ heights) / (whole * block.sizes[:, None]))


def chosen(
    column: pa.ChunkedArray, taxonomy: Taxonomy, block: Block, cost: tuple[NDArray[np.float64], float], noise: Noise
) -> tuple[pa.Array, NDArray[np.float64]]:
    """Return the category of each class, and the scale of the noise of each class.

    The score of a category is minus its mean distance to the members of the class. If one member becomes another,
    every score changes by at most 1/|C|, for no distance is above 1: that is the first of `cost`, for each class. The
    other is ε.

    Where the first of `cost` is one number, one record may change many classes, and the changes of their scores add up
    to it. A class whose scores change by δ loses 2δ/b with noise of scale b, so that all of them together lose no more
    than one would whose scores change by all of it: by sequential composition that is ε.
    """
    import pyarrow as pa

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

    So neither the categories nor their order tell which ones were drawn, or which ones the data has.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(sorted(taxonomy.paths), pa.string())
    return pa.DictionaryArray.from_arrays(pc.index_in(values, value_set=names), names)
