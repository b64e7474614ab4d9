"""SUDA: special uniques, the original records that a few attributes make unique."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from shoal.parameters import Checked, Param
from shoal.risk._class_risks import members_of, original_codes, people_in_population
from shoal.risk._data_intrusion import FRACTION, data_intrusion, dis_suda
from shoal.risk._minimal_uniques import MinimalUniques, minimal_uniques
from shoal.types import Comparison, Measure, Reading


@dataclass(frozen=True)
class Suda(Checked, Measure):
    """Percentage of the original records that are special uniques, before anything is changed.

    A record is a sample unique if no other record has the same values in all attributes, and a special unique if fewer
    attributes are enough. The fewer are needed, the more likely the person is unique in the population as well. The
    search finds for each record all its minimal sample uniques, the sets in which it is unique while it is in none of
    their subsets.

    Parts are the sample uniques, and the records that one, two or three attributes make unique, in percent; the highest
    score of a record, the sum over its minimal sets of (A−k)·(A−k−1) … (A−M) for sets of k of A attributes, if sets of
    up to M are searched; and for each attribute the share of all scores that sets with it have, in percent.

    DIS, the data intrusion simulation, estimates the chance that a unique match is the right person, from the sample
    uniques, the pairs of equal records and the sampling fraction. DIS-SUDA distributes it among the sample uniques by
    score: the parts are the highest of a record and the mean of the sample uniques, in percent. The sampling fraction
    is the parameter, or records divided by those of a population that is given, or by the sum of sampling weights, or
    0.01.

    **Guarantee.** Counted, not estimated, for sets of up to M attributes; M is the parameter, or as many as records ×
    sets below 100,000,000 allow, and the note says how many.

    **Complexity.** O(n) for each set of attributes.

    **Departures.** sdcMicro searches sets of all attributes, too. Here a sample unique without a smaller set counts
    with a score of 1 in DIS-SUDA, which is the same if M = A − 1. A missing value is a value of its own; in sdcMicro it
    makes no record unique.

    References: [EMF02], [MHK08], [SE02], [EM03], [BMW19].

    >>> import numpy as np
    >>> x = np.array([[2.0, 0.0, 0.0], [1.0, 3.0, 6.0], [1.0, 0.0, 0.0]])
    >>> dict(Suda().measure(Comparison(x, x, ("a", "b", "c"))).parts)["score through a"]
    50.0
    """

    whole_table: ClassVar[bool] = True
    unpaired: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)

    largest: Annotated[int, Param("Largest sets of attributes that are searched for special uniques.", low=1)] = 3
    sampling_fraction: Annotated[
        float | None,
        Param("Share of the population in the sample; default: by file or weights, or 0.01.", above=0, high=1),
    ] = None

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the special uniques of the original."""
        names = comparison.attributes
        if not len(comparison):
            return self.undefined("there are no records")
        if len(names) < 2:
            return self.undefined("a special unique needs fewer attributes than all, and there is only one")
        found = minimal_uniques([original_codes(comparison, name) for name in names], self.largest)
        parts = _parts(found, names, self._fraction(comparison))
        return self.reading(100.0 * found.special / found.records, names, parts, _note(found, self.largest))

    def _fraction(self, comparison: Comparison) -> float:
        if self.sampling_fraction is not None:
            return self.sampling_fraction
        if comparison.population is not None:
            return min(1.0, members_of(comparison) / max(people_in_population(comparison), 1))
        if comparison.sampling is None:
            return FRACTION
        people = np.maximum(np.nan_to_num(comparison.sampling, nan=1.0), 1.0)
        return float(len(people) / np.sort(people).sum())


def _parts(found: MinimalUniques, names: tuple[str, ...], fraction: float) -> tuple[tuple[str, float], ...]:
    n = found.records
    parts = [("sample uniques", 100.0 * found.unique / n)]
    for size, records in enumerate(found.by_size, 1):
        parts.append((f"unique by {size} attribute{'s' * (size > 1)}", 100.0 * records / n))
    parts.append(("highest score", float(found.score.max())))
    parts += _correct_matches(found, fraction)
    return (
        *parts,
        *((f"score through {name}", 100.0 * share) for name, share in zip(names, found.shares, strict=True)),
    )


def _correct_matches(found: MinimalUniques, fraction: float) -> list[tuple[str, float]]:
    """Return DIS-SUDA, the estimated chances that a unique match is correct, in percent, and the sampling fraction."""
    score = np.maximum(found.score, found.alone)
    risk = dis_suda(score, found.unique, found.pairs, found.attributes, fraction)[found.alone]
    return [
        ("highest DIS-SUDA", 100.0 * float(risk.max(initial=0.0))),
        ("mean DIS-SUDA of uniques", 100.0 * float(np.sort(risk).mean()) if len(risk) else 0.0),
        ("DIS", 100.0 * data_intrusion(found.unique, found.pairs, fraction)),
        ("sampling fraction", 100.0 * fraction),
    ]


def _note(found: MinimalUniques, largest: int) -> str:
    if found.searched == min(largest, found.attributes - 1):
        return ""
    return (
        f"Sets of up to {found.searched} of {found.attributes} attributes were searched, because larger ones would "
        "take too long"
    )
