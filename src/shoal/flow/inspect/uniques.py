"""Records that presumed quasi-identifiers make unique: alone, in pairs and triples, and as special uniques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoal import progress
from shoal.flow.plan.promise import Coded, combination_sizes
from shoal.types import Combination, SpecialUniques

_BUDGET = 20_000_000  # most records × sets of columns that are searched: about two seconds
_SETS = 3  # columns of the largest sets


def counted(codes: Mapping[str, NDArray[np.int64]]) -> tuple[Combination, ...]:
    """Count the records that each column, pair and triple singles out, in descending order."""
    groups = [names for size in (1, 2, 3) for names in combinations(codes, size)]
    found = []
    for at, names in enumerate(groups):
        progress.report(at, len(groups))
        found.append(combination(names, [codes[name] for name in names], 0))
    return tuple(sorted(found, key=lambda one: (len(one.attributes), -one.unique)))


def combination(names: tuple[str, ...], codes: Sequence[NDArray[np.int64]], n: int) -> Combination:
    """Count the unique records of a combination of columns, and the size of its smallest group."""
    if not codes:
        return Combination((), int(n == 1), n, 1)
    sizes = combination_sizes([Coded(one, int(one.max()) + 1) for one in codes])
    return Combination(names, int((sizes == 1).sum()), int(sizes.min()), len(sizes))


def special_uniques(names: tuple[str, ...], codes: Sequence[NDArray[np.int64]]) -> SpecialUniques | None:
    """Count the sample uniques and the special uniques of a table, or of a sample if it is large; None for one column.

    **Complexity.** O(n) for each set of columns, at most `_BUDGET` records × sets: pairs are searched in as many
    records as this allows, and triples where it allows them.
    """
    from shoal.risk._minimal_uniques import minimal_uniques

    if len(codes) < 2:
        return None
    n, most = len(codes[0]), _BUDGET // (len(codes) * (len(codes) + 1) // 2)
    if n > most:
        rows = np.sort(np.random.default_rng(0).choice(n, max(most, 1), replace=False))
        codes = [one[rows] for one in codes]
    found = minimal_uniques(codes, _SETS, _BUDGET)
    return SpecialUniques(names, n, len(codes[0]), found.unique, found.by_size)
