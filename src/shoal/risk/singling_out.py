"""Singling-out: the records that are unique in their masked values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.parameters import Checked
from shoal.risk._attacker import POINTS, Sets, classes_of, joined, number, small_sets, values_of
from shoal.risk.control.nearest import Attempts
from shoal.risk.control.predicates import SingledOut, singled_out
from shoal.risk.control.rates import Attacks, Rate
from shoal.risk.control.tables import Tables, finite
from shoal.types import Attacked, Comparison, ControlledMeasure, Measure, Reading

_LARGEST = 3


@dataclass(frozen=True)
class SinglingOut(Checked, Measure, ControlledMeasure):
    """Percentage of masked records that are unique in all attributes.

    Parts give the same for one, two or three attributes: the mean over all such sets, and the worst of them. A record
    that is unique in some attributes is unique in more.

    With a control, or if rows do not correspond, an attacker guesses predicates from the release and checks them on
    members and on people outside the release. The value is then the excess; the parts give its 95 % interval: see
    :mod:`shoal.risk.control`.

    **Guarantee.** Without a control: 0 if and only if the masked table is 2-anonymous in the compared attributes; then
    all parts are 0, too.

    **Complexity.** O(n log n) for each attribute; then, if any record is unique, O(p log p) for each set and p distinct
    masked records. If p times the number of sets would exceed 20,000,000, a seeded sample of sets of two and of three.

    **Departures.** [WP14] gives no formula. Without a control, the count is of records that are unique in the masked
    table, whether their values are true or not. With one, an attacker guesses predicates as in [GBM23].

    References: [WP14], [GBM23].

    >>> masked = np.array([[1.5], [1.5], [3.5], [4.0]])
    >>> SinglingOut().measure(Comparison(masked, masked, ("x",))).value
    50.0
    """

    exchangeable: ClassVar[bool] = True
    unpaired: ClassVar[bool] = True
    unit: ClassVar[str] = "%"
    range: ClassVar[tuple[float, float]] = (0.0, 100.0)
    without_control: ClassVar[str] = (
        "unique records of the release are counted, true or not; to measure how much better guesses single out people "
        "in the release than others, leave some people out (protect --holdout 0.1 --holdout-to FILE) and give them as "
        "--control FILE"
    )

    attacks: Attempts = 2_000

    def measure(self, comparison: Comparison) -> Reading:
        """Measure the singling-out of a masked table."""
        n, names = len(comparison), comparison.attributes
        _, first, counts = np.unique(classes_of(comparison), return_index=True, return_counts=True)
        known = small_sets(names, _LARGEST, max(POINTS // (2 * max(len(counts), 1)), 1), comparison.seed)
        value, note = math.nan, "There are no records."
        shares = np.zeros(len(known.sets))
        if n:
            value, note = 100.0 * int(np.count_nonzero(counts == 1)) / n, ""
        if n and value:  # a record that is unique in some attributes is unique in all
            values = {name: values_of(comparison, name)[first] for name in names}
            for at, chosen in enumerate(known.sets):
                shares[at] = 100.0 * _alone([values[name] for name in chosen], counts) / n
            if not known.whole:
                note = f"{len(known.sets):,} of {known.all:,} sets of up to three attributes were used."
        parts = _by_size(known, shares) if n else ()
        return self.reading(value, names, parts, note)

    def attack(self, attacked: Attacked) -> Reading:
        """Single out members and control records by predicates that are guessed from the release."""
        tables, names = _own_units(attacked), attacked.attributes
        guesses = min(self.attacks, _GUESSES)
        found = singled_out(tables, guesses, attacked.seed)
        if not found.guesses:
            return self.undefined("no combination of released values can be guessed.")
        rng = np.random.default_rng(attacked.seed)
        mixed = np.column_stack([rng.permutation(column) for column in tables.released.T])
        blind = singled_out(tables._replace(released=mixed), guesses, attacked.seed)
        made = _attacks(found, blind, controlled=attacked.controlled)
        return self.reading(made.value, names, made.parts(), made.told("a guess singles out one person"))


_GUESSES = 500  # predicates at most


def _own_units(attacked: Attacked) -> Tables:
    """Return the attributes of three tables in their own units, missing numbers below all others."""
    columns = [attacked.values[name] for name in attacked.attributes]
    three = finite(*(np.column_stack([column[at] for column in columns]) for at in range(3)))
    return Tables(three[0], three[2], three[1], [column.numeric for column in columns])


def _attacks(found: SingledOut, blind: SingledOut, *, controlled: bool) -> Attacks:
    members, control = (Rate(share / 100 * found.guesses, found.guesses) for share in found[:2])
    baseline = blind.originals / 100 if blind.guesses else 0.0
    return Attacks(members, control if controlled else Rate(0.0, 0), baseline)


def _alone(values: list[NDArray[np.int64]], counts: NDArray[np.int64]) -> int:
    """Return how many records have a unique combination of values."""
    return int(np.count_nonzero(np.bincount(joined(values), counts) == 1))


def _by_size(known: Sets, shares: NDArray[np.float64]) -> tuple[tuple[str, float], ...]:
    sizes = np.array([len(names) for names in known.sets])
    parts = []
    for size in np.unique(sizes):
        inside = shares[sizes == size]
        parts += [(number(int(size)), float(inside.mean())), (f"{number(int(size))}, worst", float(inside.max()))]
    return tuple(parts)
