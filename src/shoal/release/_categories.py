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
            found[i, j] = found[j, i] = height[a[:shared]] / height[()]
    return names, found


def chosen(
    column: pa.ChunkedArray, taxonomy: Taxonomy, block: Block, cost: tuple[NDArray[np.float64], float], noise: Noise
) -> tuple[pa.Array, NDArray[np.float64]]:
    """Return for each record the category of its class, and the scale of the noise of each class.

    The score of a category is minus its mean distance to the members of the class. If one member becomes another,
    every score changes by at most 1/|C|, for no distance is above 1: that is the first of `cost`, for each class. The
    other is ε.
    """
    import pyarrow as pa

    names, apart = distances(taxonomy)
    reach, epsilon = cost
    place = {name: at for at, name in enumerate(names)}
    coded = column.combine_chunks().dictionary_encode()
    own = np.array([place[called(value)] for value in coded.dictionary.to_pylist()], np.int64)
    codes = own[coded.indices.to_numpy()]
    counts = np.zeros((len(block), len(names)))
    np.add.at(counts, (block.labels, codes), 1.0)
    scores = -(counts @ apart) / block.sizes[:, None]
    picked, scales = np.empty(len(block), np.int64), np.empty(len(block))
    for one in np.unique(reach):  # classes of one size at once
        where = np.flatnonzero(reach == one)
        picked[where], scales[where] = noise.choose(scores[where], float(one), epsilon)
    return pa.array(names, pa.string()).take(pa.array(picked[block.labels])), scales
