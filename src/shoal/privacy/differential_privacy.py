"""Differential privacy: changing one record changes the probability of any release by a factor of at most e^ε."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeError, ParameterError
from shoal.parameters import Checked, Param
from shoal.privacy.counting.classes import numbered
from shoal.privacy.counting.values import normal
from shoal.types import Entry, Finding, Ledger, Release, TableModel, Taxonomy, called

Node = tuple[tuple[str, ...], str | None]  # a group by its path, or a leaf in it


def spread(taxonomy: Taxonomy, cells: int | None) -> tuple[float, float]:
    """Return the largest distance of two leaves of a group, and the sum of the steps from group to group along the
    line.

    Groups are those at the depth with `cells` groups, leaves that lie higher counted as groups; None: every leaf is its
    own group. If there is no such depth, nothing is known, and both are infinite. A node with c branches is passed c −
    1 times, from one branch to the next, by a step as long as it is high, whatever the order of its branches.

    >>> organs = Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)})
    >>> spread(organs, 1), spread(organs, 2), spread(organs, None), spread(organs, 7)
    ((1.0, 0.0), (0.5, 1.0), (0.0, 1.5), (inf, inf))
    """
    branches: dict[tuple[str, ...], set[Node]] = {}
    height: dict[tuple[str, ...], int] = {}
    for leaf, path in taxonomy.paths.items():
        chain: list[Node] = [*((path[:depth], None) for depth in range(1, len(path) + 1)), (path, leaf)]
        for depth, below in enumerate(chain):
            branches.setdefault(path[:depth], set()).add(below)
            height[path[:depth]] = max(height.get(path[:depth], 0), len(path) + 1 - depth)
    forks = {node: height[node] / height[()] for node, below in branches.items() if len(below) > 1}
    for depth in range(taxonomy.height, -1, -1):
        above = [node for node in branches if len(node) < depth]
        count = 1 + sum(len(branches[node]) - 1 for node in above)
        if cells is None or count == cells:
            within = max((far for node, far in forks.items() if len(node) >= depth), default=0.0)
            return within, math.fsum((len(branches[node]) - 1) * forks[node] for node in above if node in forks)
    return math.inf, math.inf


#: Inverse of the share of a record's change that a value changes by: all share the mean, a medoid is one record.
_STANDS_FOR: dict[str, Callable[[NDArray[np.int64]], NDArray[np.int64]]] = {
    "mean": lambda sizes: sizes,
    "medoid": np.ones_like,
}


@dataclass(frozen=True)
class DifferentialPrivacy(Checked, TableModel):
    """ε-differential privacy (Dwork et al.): computed from the noise that was added, because a table cannot show it.

    **It cannot be audited from a table**: a table does not show whether its values are noisy. The audit checks what it
    can see:

    - members of a class are released with the same values: they share one draw;
    - no value lies beyond its bounds, or has more digits than its resolution;
    - the scale of the noise of each class is compared with what its size, the bounds and the claim require. From these,
      not from what the release declares, follows the ε that is achieved: largest over classes, added over attributes;
    - for the claim ``original``: only attributes with noise are released, in the order of the recipe, with all
      categories of their taxonomies; values beyond the bounds are not counted; rows are in random order, and sizes are
      k, …, k and the rest, which discloses nothing about the data. The audit recomputes how far one record moves the
      classes from the strips, and for categories from their taxonomy.

    If one of these fails, the level is infinite. If bounds came from the data, or noise from a seed, nothing is
    promised, and the level is infinite too.

    **Guarantee.** Shares no code with the code that adds the noise.

    **Complexity.** O(n log n) for each attribute.

    **What it does not promise.** That the noise was drawn well: that is up to the library. That the original records
    are protected, if the claim is ``microaggregated``. Anything about columns that are released unchanged, or about
    printed output.

    References: [DMNS06], [SD17].

    >>> DifferentialPrivacy(1.0).epsilon
    1.0
    """

    short: ClassVar[str] = "epsilon"
    level: ClassVar[str] = "epsilon"
    example: ClassVar[str] = "1"

    epsilon: Annotated[float | None, Param("Largest ε that is allowed; none: only report.", low=0.0)] = None

    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Compute ε from the noise that was added."""
        names, ledger = tuple(attributes), release.ledger
        if ledger is None:
            raise ParameterError(
                "DifferentialPrivacy: needs the noise that was added, which a table does not show. It is audited "
                "during protect, with the release laplace; leave it out here."
            )
        faults = [*_entries(ledger, names), *_shared(release, ledger)]
        if ledger.claim != "microaggregated":
            faults += _nothing_else(release, ledger, names)
        spent = math.inf if faults else math.fsum(_spent(release, ledger, entry) for entry in ledger.entries)
        return self.finding(
            names,
            spent if ledger.private else math.inf,
            self.epsilon if ledger.private else None,
            max(len(entry.scales) for entry in ledger.entries),
            holds=not faults and (self.epsilon is None or spent <= self.epsilon),
            note="; ".join((*faults, ledger.meaning)),
            promised=ledger.private,
        )


def _entries(ledger: Ledger, names: tuple[str, ...]) -> list[str]:
    """List attributes without an entry of their own."""
    if sorted(entry.attribute for entry in ledger.entries) != sorted(names):
        raise GuaranteeError(
            "DifferentialPrivacy: the ledger must have one entry for each quasi-identifier, but does not. Nothing "
            "was written."
        )
    unknown = [] if ledger.representative in _STANDS_FOR else ["it is not known what the noise was added to"]
    return unknown + [
        f"the noise of {entry.attribute!r} is not known for every class"
        for entry in ledger.entries
        if entry.mechanism not in ("laplace", "exponential")
        or not (np.isfinite(entry.scales) & (entry.scales >= 0)).all()
    ]


def _classes(release: Release, name: str) -> NDArray[np.int64]:
    labels = release.classes.get(name)
    if labels is None or len(labels) != release.data.num_rows:
        raise GuaranteeError(
            "DifferentialPrivacy: every record must have one class, but some do not. Nothing was written."
        )
    return np.asarray(labels)


def _shared(release: Release, ledger: Ledger) -> list[str]:
    """List the attributes for which a class has two values, or one beyond the domain."""
    faults = []
    for entry in ledger.entries:
        name, labels = entry.attribute, _classes(release, entry.attribute)
        column, numeric = release.values(name), entry.mechanism == "laplace"
        values = column.to_numpy().astype(np.float64) if numeric else numbered(normal(column))
        first = np.empty(int(labels.max()) + 1)
        first[labels] = values
        if column.null_count or not (first[labels] == values).all():
            faults.append(f"members of a class have different values of {name!r}")
        if numeric:
            low, high = ledger.domains[name]
            inside = bool(((values >= low) & (values <= high)).all())
            if not _multiples(values, ledger.steps.get(name)):
                faults.append(f"values of {name!r} have more digits than its resolution")
        else:
            taxonomy = release.schema[name].taxonomy
            inside = taxonomy is not None and {called(one) for one in column.unique().to_pylist()} <= set(
                taxonomy.paths
            )
        if not inside:
            faults.append(f"values of {name!r} lie outside the domain")
    return faults


def _multiples(values: NDArray[Any], step: float | None) -> bool:
    """Tell whether all values are multiples of a step, up to rounding of 64-bit numbers."""
    if step is None:
        return True
    steps = values / step
    return bool((np.abs(steps - np.rint(steps)) <= 1e-9 * np.maximum(1.0, np.abs(steps))).all())


def _nothing_else(release: Release, ledger: Ledger, names: tuple[str, ...]) -> list[str]:
    """List anything that would disclose more about original records than their noisy means do."""
    faults = []
    noised = [entry.attribute for entry in ledger.entries]
    if set(release.data.column_names) != set(noised):
        faults.append("columns without noise are released")
    elif tuple(release.data.column_names) != names:
        faults.append("columns are not in the order of the recipe")
    if ledger.clamped:
        faults.append("values outside the bounds are counted")
    faults += [
        f"the list of categories of {name!r} is not that of its taxonomy"
        for name in noised
        if not _whole_list(release, name)
    ]
    every = [_classes(release, name) for name in noised]
    if any((labels != every[0]).any() for labels in every):
        faults.append("attributes have different classes")
    if not release.shuffled:
        faults.append("rows are not in random order")
    sizes = np.bincount(every[0])
    if (sizes[:-1] != sizes[0]).any() or not sizes[0] <= sizes[-1] < 2 * sizes[0]:
        faults.append("sizes of classes depend on the data")
    if len(ledger.strips) != len(noised) or any(count < 1 for count in ledger.strips):
        faults.append("it is not known how the domain was put in order")
    return faults


def _whole_list(release: Release, name: str) -> bool:
    """Tell whether a column that lists its categories lists those of its taxonomy, by name."""
    column = release.data.column(name)
    if not hasattr(column.type, "value_type"):
        return True
    taxonomy = release.schema[name].taxonomy
    lists = [chunk.dictionary.to_pylist() for chunk in column.chunks]
    return taxonomy is not None and all(one == sorted(taxonomy.paths) for one in lists)


def _spent(release: Release, ledger: Ledger, entry: Entry) -> float:
    """Return the ε of an attribute, from sizes of classes, bounds and scales."""
    sizes = np.bincount(_classes(release, entry.attribute))
    if len(sizes) != len(entry.scales):
        return math.inf
    # no two categories are farther apart than 1, and scores count twice
    exponential = entry.mechanism == "exponential"
    width = 2.0 if exponential else ledger.domains[entry.attribute].width
    if width == 0.0:
        return 0.0
    members = _STANDS_FOR[ledger.representative](sizes)
    with np.errstate(divide="ignore"):
        if ledger.claim == "microaggregated":  # a record changes the value of its own class: [SD17] Proposition 2
            return float((width / members / entry.scales).max())
        return float(width * _steps(release, ledger, entry, len(sizes)) / members[0] / entry.scales.min())


def _steps(release: Release, ledger: Ledger, entry: Entry, classes: int) -> float:
    """Return how many widths records that change classes move when one record changes; see the method insensitive."""
    j = [other.attribute for other in ledger.entries].index(entry.attribute)
    before, own, last = math.prod(ledger.strips[:j]), ledger.strips[j], j == len(ledger.strips) - 1
    if entry.mechanism == "laplace":
        within, between = (0.0, 1.0) if last else (1.0 / own, 1.0 - 1.0 / own)
    else:
        taxonomy = release.schema[entry.attribute].taxonomy
        within, between = (math.inf, math.inf) if taxonomy is None else spread(taxonomy, None if last else own)
    if math.isinf(within):  # cut into unknown cells: fails closed
        return math.inf
    return min(classes, classes * within + before * between)
