"""Weights of single records next to a weighted mean: an equation that usually has one solution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.types.attack import Attempt, Case, numbers
from shoal.types.protocols import Attack

_LARGEST = 7  # records in a class whose orders are tried: 5,040
_CLASSES = 2_000  # classes that are tried
_EXPLAINED = 0.99  # share of the classes whose released value must be the mean that is assumed
_EXACT = 1e-9  # relative error of a mean that is not rounded


class _Members(NamedTuple):
    """A class: the original values of its members, their released weights, and the released value."""

    values: NDArray[np.float64]
    weights: NDArray[np.float64]
    released: float


@dataclass(frozen=True)
class Weights(Attack):
    """The attacker solves the equation of a weighted mean for the values of single records.

    **What the attacker knows.** The released table with its weights; from a register, the original values of the people
    in a class, but not whose row is which; and whether means are weighted, which anyone who knows the program can tell.

    **What the attacker does.** If the released values are weighted means, and not plain ones, tries all orders of the
    values of a class. If exactly one has the released mean, that is the guess; otherwise the guess is the released
    value. Up to 2,000 classes of up to 7 records are tried.

    **Learnt.** Records whose value is guessed exactly, for the column in which they exceed the baseline most.

    **Baseline.** Records whose released value is the original one.

    **Complexity.** O(c·s!·s) for c classes of s records.
    """

    needs: ClassVar[tuple[str, ...]] = ("weight", "quasi", "rows")
    quick: ClassVar[bool] = True
    stops: ClassVar[bool] = True
    advice: ClassVar[str] = 'Set release_weight = "class" or "none".'

    def run(self, case: Case) -> Attempt:
        """Solve the equations of all numeric quasi-identifiers."""
        weights = None if case.weight is None else numbers(case.table.data.column(case.weight))
        if weights is None:
            return Attempt.not_run(self.key, "The release has no weights.")
        if case.link is not None:
            return Attempt.not_run(self.key, "Quasi-identifiers are released unchanged, so there are no means.")
        if case.truth is None:
            return Attempt.not_run(self.key, case.why_no_rows)
        if not (chosen := _uneven(case.classes, weights)):
            return Attempt.of(self.key, len(case), 0, 0.0, "an original value from weights, which classes share,")
        found = [self._of(case, name, weights, chosen) for name in case.quasi]
        attempts = [one for one in found if one is not None]
        if not attempts:
            return Attempt.not_run(self.key, "The release has no numeric quasi-identifier.")
        return Attempt.worst(attempts)

    def _of(
        self, case: Case, name: str, weights: NDArray[np.float64], chosen: list[NDArray[np.int64]]
    ) -> Attempt | None:
        assert case.truth is not None
        before, after = numbers(case.truth.data.column(name)), numbers(case.table.data.column(name))
        if before is None or after is None:
            return None
        classes = [_Members(before[rows], weights[rows], float(after[rows[0]])) for rows in chosen]
        classes = [one for one in classes if np.isfinite([*one.values, *one.weights, one.released]).all()]
        rounded = bool((after[np.isfinite(after)] % 1 == 0).all())
        guesses = _solutions(classes, rounded=rounded)
        learnt = sum(int((guess == one.values).sum()) for guess, one in zip(guesses, classes, strict=True))
        known = sum(int((one.values == one.released).sum()) for one in classes)
        records = sum(len(one.values) for one in classes)
        return Attempt.of(self.key, records, learnt, float(known), f"the original value of {name!r} from the weights")


def _uneven(labels: NDArray[np.int64], weights: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Return the rows of each class that is small enough and has unequal weights; of many, a random sample."""
    order = np.argsort(labels, kind="stable")
    begins = np.flatnonzero(np.diff(labels[order], prepend=-1))
    if not len(begins):
        return []
    sizes = np.diff(np.append(begins, len(labels)))
    sorted_ = weights[order]
    differ = np.minimum.reduceat(sorted_, begins) < np.maximum.reduceat(sorted_, begins)
    fit = np.flatnonzero(differ & (sizes > 1) & (sizes <= _LARGEST))
    if len(fit) > _CLASSES:
        fit = np.sort(np.random.default_rng(0).choice(fit, _CLASSES, replace=False))
    return [order[begins[c] : begins[c] + sizes[c]] for c in fit]


def _solutions(classes: list[_Members], *, rounded: bool) -> list[NDArray[np.float64]]:
    """Return the guess for each class: the only order of its values that has the mean, or else the released value."""
    plain, guesses, weighted = 0, [], 0
    for one in classes:
        slack = 0.5 if rounded else _EXACT * max(1.0, float(np.abs(one.values).max()))
        plain += abs(one.values.mean() - one.released) <= slack
        orders = one.values[_orders(len(one.values))]
        fitting = orders[np.abs(orders @ one.weights / one.weights.sum() - one.released) <= slack]
        weighted += len(fitting) > 0
        unique = len(fitting) > 0 and bool((fitting == fitting[0]).all())
        guesses.append(fitting[0] if unique else np.full(len(one.values), one.released))
    enough = math.ceil(_EXPLAINED * len(classes))
    if plain >= enough or weighted < enough:  # the means do not use the weights, so there is no equation
        return [np.full(len(one.values), one.released) for one in classes]
    return guesses


def _orders(size: int) -> NDArray[np.int64]:
    return np.array(list(permutations(range(size))))
