"""Algorithm: which assignments of values to people would have given exactly this release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal import registry
from shoal.attack._propagation import LARGEST, Classes, Colouring, Conditions, Matching, proven, remaining_orders
from shoal.attack._worlds import link_probabilities, members_of, number_of_worlds, right_guesses
from shoal.types import Table
from shoal.types.attack import Attempt, Case, codes, joined, numbers
from shoal.types.protocols import Attack

_WORLDS = 1_000  # worlds that are replayed one by one
_RECORDS = 5_000  # records up to which conditions between all pairs of classes are propagated
_EXCHANGES = 5  # replays with all atoms exchanged
_SINGLE = 300  # replays with two values exchanged
_MATES = 12  # members of a class that one person's value is exchanged with, at most
_PLAIN = ("strata", "blocks", "steer", "require", "refine", "together", "subject", "weight", "set")
_KNOWN = 0.01  # share of the links that an attacker may know beforehand

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class _Release(NamedTuple):
    """What the attack is checked against."""

    truth: Table  #: original records in the order of the release
    labels: Ints  #: class of each
    values: Ints  #: a number for each combination of confidential values


@dataclass(frozen=True)
class Algorithm(Attack):
    """The attacker replays the method on every assignment of values to people (minimality attack).

    **What the attacker knows.** The quasi-identifiers of all people (a register), the method, its parameters and its
    seed, and the release. No link.

    **What the attacker does.** In each class the people and the confidential values are known, not who has which. The
    attacker discards every assignment for which the method would have formed other classes. If few assignments exist,
    all are replayed: the probabilities are exact. For `steered` and `t_first` on larger tables, conditions between
    pairs of classes are propagated: what is then left is proven. Otherwise values are exchanged at random: first those
    of all atoms at once; if that changes classes, two at a time, for an attacker who knows all other links. The result
    of these exchanges is an estimate.

    **Learnt.** People for whom the most probable assignment is the true one; several equally probable ones share.

    **Baseline.** The person's share of the class. Where an exchangeable method merges atoms it is the share of the
    atom, which is what the method promises: at most 1 in k.

    References: [WFWP07].
    """

    needs: ClassVar[tuple[str, ...]] = ("quasi", "confidential", "rows", "replay")
    advice: ClassVar[str] = "Use a method that promises exchangeable, such as mdav, or t_close_anneal for t."

    def run(self, case: Case) -> Attempt:
        """Count the people whose link follows from the method."""
        if case.replay is None or not case.recipe.get("method"):
            return Attempt.not_run(self.key, "It needs the recipe: the attacker knows the method and its parameters.")
        if case.truth is None:
            return Attempt.not_run(self.key, case.why_no_rows)
        if not case.quasi or not case.confidential:
            return Attempt.not_run(self.key, "It needs quasi-identifiers and a confidential column in the release.")
        if case.link is not None:
            return Attempt.not_run(self.key, "The release has two tables; the attack needs one.")
        values = joined([codes(case.truth.data.column(name)) for name in case.confidential], len(case))
        labels = _numbered(case.replay(case.truth))
        if len(np.unique(joined([labels, case.classes], len(case)))) > len(np.unique(labels)):
            return Attempt.not_run(
                self.key, "The recipe does not form the classes of the release, so that it cannot be replayed."
            )  # classes with equal released values look like one
        release = _Release(case.truth, labels, values)
        return self._exact(case, release) or self._propagated(case, release) or self._exchanged(case, release)

    def _same(self, case: Case, release: _Release, rows: Ints) -> bool:
        """Tell whether the classes stay the same if each person has the confidential values of another row."""
        assert case.replay is not None
        data = release.truth.data
        for name in case.confidential:
            place = data.schema.get_field_index(name)
            data = data.set_column(place, data.schema.field(place), data.column(name).take(rows))
        return bool((_numbered(case.replay(replace(release.truth, data=data))) == release.labels).all())

    def _exact(self, case: Case, release: _Release) -> Attempt | None:
        """Replay every assignment, if there are few."""
        labels, values = release.labels, release.values
        if number_of_worlds(labels, values) > _WORLDS:
            return None
        having = np.unique(values, return_index=True)[1]  # a row with each combination of values
        found = link_probabilities(labels, values, lambda world: self._same(case, release, having[world]))
        atoms = self._atoms(case, release)
        fair = float(_shares(atoms).sum())
        return Attempt.of(
            self.key, len(labels), round(right_guesses(found)), fair, "which values are a person's (exact)"
        )

    def _propagated(self, case: Case, release: _Release) -> Attempt | None:
        """Propagate the conditions of `steered` or `t_first` between classes."""
        found = self._conditions(case, release)
        if found is None:
            return None
        classes, conditions, truth, labels = found
        if isinstance(conditions, Colouring):  # subsets can be renamed: without a known link every one is possible
            link = np.full(len(truth), -1, np.int64)
        else:
            link = proven(classes, remaining_orders(classes, conditions))
        sure = link >= 0
        if (link[sure] != truth[sure]).any():
            return None  # the conditions do not fit: the recipe was carried out in some other way
        fair = _shares(labels)
        learnt = int(sure.sum()) + fair[~sure].sum()
        what = f"which values are a person's ({sure.sum():,} proven by propagation, the others guessed)"
        done = Attempt.of(self.key, len(truth), round(learnt), float(fair.sum()), what)
        if sure.any():
            return done
        some = np.random.default_rng(0).choice(len(truth), max(1, round(_KNOWN * len(truth))), replace=False)
        known = {int(row): int(truth[row]) for row in some}
        more = int((proven(classes, remaining_orders(classes, conditions, known)) >= 0).sum()) - len(known)
        told = f" Someone who knows {len(known):,} of these links beforehand proves {max(more, 0):,} others."
        return replace(done, sentence=done.sentence + told)

    def _conditions(self, case: Case, release: _Release) -> tuple[Classes, Conditions, Ints, Ints] | None:
        """Return the conditions under which a method that is understood formed the classes; None for any other.

        They are followed by the true codes of the values and the labels, all in the order of the coordinates.
        """
        recipe, n = case.recipe, len(release.labels)
        method, k, t = str(recipe["method"]), int(recipe.get("k") or 2), recipe.get("t")
        if method not in ("steered", "t_first") or t is None or n > _RECORDS or len(case.confidential) > 1:
            return None
        columns = [numbers(release.truth.data.column(name)) for name in (*case.quasi, *case.confidential)]
        whole = [one for one in columns if one is not None and np.isfinite(one).all()]
        if len(whole) < len(columns) or any(recipe.get(name) for name in _PLAIN):
            return None
        x, secret = np.column_stack(whole[:-1]), whole[-1]
        order = np.lexsort(x.T[::-1])
        x, secret, labels = x[order], secret[order], release.labels[order]
        classes, truth = Classes.of(labels, secret), np.unique(secret, return_inverse=True)[1]
        size = max(k, math.ceil(n / (2 * (n - 1) * Fraction(str(float(t))) + 1)))
        if method == "steered":
            buckets, width = n // (n // size), np.ptp(x, axis=0)
            unit = (x - x.min(axis=0)) / np.where(width > 0, width, 1.0)
            return (classes, Matching.of(unit, classes, buckets), truth, labels) if buckets < LARGEST else None
        size, spread = size + (n % size) // (n // size), x.std(axis=0)
        if size >= LARGEST:
            return None
        scaled = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return classes, Colouring.of(scaled, labels, classes, size), truth, labels

    def _exchanged(self, case: Case, release: _Release) -> Attempt:
        """Exchange values at random, and see whether the classes stay the same."""
        rng, atoms = np.random.default_rng(0), self._atoms(case, release)
        fair = _shares(atoms)
        n = len(fair)
        if all(self._same(case, release, _permuted(atoms, rng)) for _ in range(_EXCHANGES)):
            what = f"which values are a person's (estimated: none of {_EXCHANGES} exchanges changed a class)"
            return Attempt.of(self.key, n, round(fair.sum()), float(fair.sum()), what)
        right, base, people, replays = 0.0, 0.0, 0, 0
        for person in rng.permutation(n):
            mates = np.flatnonzero((release.labels == release.labels[person]) & (np.arange(n) != person))
            tried = rng.permutation(mates)[:_MATES]
            if people and replays + len(tried) > _SINGLE:
                break
            stays = [self._same(case, release, _swapped(n, person, mate)) for mate in tried]
            right += 1.0 / (1.0 + float(np.mean(stays)) * len(mates))
            base, people, replays = base + fair[person], people + 1, replays + len(tried)
        what = (
            f"which values are a person's (estimated from {replays:,} exchanges of two values, if all other links are "
            "known)"
        )
        return Attempt.of(self.key, people, round(right), float(base), what)

    def _atoms(self, case: Case, release: _Release) -> Ints:
        """Return the atoms of a method that merges them, otherwise the classes."""
        method = str(case.recipe["method"])
        merges = registry.says("partition", method, "exchangeable") and registry.says("partition", method, "promises_t")
        if not merges or case.replay is None:
            return release.labels
        first = dict(case.recipe.get("set") or {}).get("first", "mdav")
        return _numbered(case.replay(release.truth, method=first, t=None, require={}, set={}))


def _numbered(labels: Ints) -> Ints:
    """Number classes from 0 in the order of their first rows."""
    _, first, own = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[own.reshape(-1)], np.int64)


def _shares(labels: Ints) -> Floats:
    return np.asarray(1.0 / np.bincount(labels)[labels])


def _permuted(labels: Ints, rng: np.random.Generator) -> Ints:
    rows = np.arange(len(labels))
    for inside in members_of(labels):
        rows[inside] = rng.permutation(inside)
    return rows


def _swapped(n: int, i: int, j: int) -> Ints:
    rows = np.arange(n)
    rows[[i, j]] = j, i
    return rows
