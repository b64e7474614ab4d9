"""Algorithm: which assignments of values to people would have given exactly this release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.attack._propagation import LARGEST, Classes, Colouring, Conditions, Matching, proven, remaining_orders
from shoal.attack._worlds import link_probabilities, members_of, number_of_worlds, right_guesses
from shoal.errors import ShoalError
from shoal.types import Table
from shoal.types.attack import Attempt, Case, codes, joined, numbers
from shoal.types.protocols import Attack

_WORLDS = 1_000  # worlds that are replayed one by one
_RECORDS = 5_000  # records up to which conditions between all pairs of classes are propagated
_EXCHANGES = 5  # replays with all atoms exchanged
_STEPS = 400  # steps of a chain; each step exchanges two values
_PEOPLE = 30  # people in the classes of a chain, unless one class has more
_PLAIN = (
    "strata",
    "attribute_blocks",
    "blocks",
    "steer",
    "require",
    "effort",
    "deadline",
    "together",
    "subject",
    "weight",
    "set",
)
_KNOWN = 0.01  # share of the links that an attacker may know beforehand

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class _Release(NamedTuple):
    """The true release, against which the attack is checked."""

    truth: Table  #: original records in the order of the release
    labels: Ints  #: class of each
    values: Ints  #: a number for each combination of confidential values


def _missing(case: Case) -> str:
    """Return why the attack cannot be run, as a sentence; empty if nothing is missing."""
    if case.replay is None or not case.recipe.get("method"):
        return "It needs the recipe: the attacker knows the method and its parameters."
    if case.truth is None:
        return case.why_no_rows
    if not case.quasi or not case.confidential:
        return "It needs quasi-identifiers and a confidential column in the release."
    return "" if case.link is None else "The release has two tables; the attack needs one."


@dataclass(frozen=True)
class Algorithm(Attack):
    """The attacker replays the method on every assignment of values to people (minimality attack).

    **What the attacker knows.** The quasi-identifiers of all people (a register), the method, its parameters and its
    seed, and the release. No link.

    **What the attacker does.** In each class the people and the confidential values are known, not who has which. The
    attacker discards every assignment for which the method would have formed other classes. If few assignments exist,
    all are replayed: the probabilities are exact. For `steered` and `t_first` on larger tables, conditions between
    pairs of classes are propagated: the result is proven. Otherwise values are exchanged at random within all
    atoms at once. If that changes classes, a chain walks over the assignments of some classes that give the same
    release, for an attacker who knows the links of all others. Both results are estimates.

    **Learnt.** People whose most probable assignment is the true one; ties count as a fraction of a person.

    **Baseline.** The person's share of the class. Where an exchangeable method unites atoms, an attacker who knows all
    links outside an atom has the share of the atom, which is what the method promises: at most 1 in k.

    References: [WFWP07].
    """

    needs: ClassVar[tuple[str, ...]] = ("quasi", "confidential", "rows", "replay")
    advice: ClassVar[str] = "Use a method that promises exchangeable, such as mdav, or t_close_anneal for t."

    def run(self, case: Case) -> Attempt:
        """Count the people whose link follows from the method."""
        if reason := _missing(case):
            return Attempt.not_run(self.key, reason)
        assert case.replay is not None
        assert case.truth is not None
        values = joined([codes(case.truth.data.column(name)) for name in case.confidential], len(case))
        try:
            labels = _numbered(case.replay(case.truth))
        except ShoalError as error:  # such as fewer records than k
            return Attempt.not_run(self.key, f"The recipe cannot be replayed on this table. {error}")
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
        fair = float(_shares(labels).sum())
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
        nominal = [name for name, kind in (recipe.get("kinds") or {}).items() if kind == "nominal"]
        if {*nominal, *(recipe.get("taxonomies") or ()), *(recipe.get("orders") or ())} & set(case.confidential):
            return None  # their ranks are not those of numbers
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
        """Exchange values at random within all atoms, and see whether the classes stay the same."""
        rng, atoms, fair = np.random.default_rng(0), self._atoms(case, release), _shares(release.labels)
        if not all(self._same(case, release, _permuted(atoms, rng)) for _ in range(_EXCHANGES)):
            return self._walked(case, release, rng)
        most = f"; whoever knows all links outside an atom is right about {_shares(atoms).sum():,.0f} on average"
        what = (
            f"which values are a person's (estimated: none of {_EXCHANGES} exchanges within all atoms changed a class"
            f"{most if atoms.max() > release.labels.max() else ''})"
        )
        return Attempt.of(self.key, len(fair), round(fair.sum()), float(fair.sum()), what)

    def _walked(self, case: Case, release: _Release, rng: np.random.Generator) -> Attempt:
        """Walk from the true assignment to others that give the same classes, in some classes; count where it stays.

        Each step exchanges two values of a class, and is taken back if the method would then form other classes. In the
        long run all assignments that can be reached are equally frequent.
        """
        labels, values = release.labels, release.values
        inside = members_of(labels)
        some = np.cumsum(np.bincount(labels)[turns := rng.permutation(len(inside))]) <= _PEOPLE
        some[0] = True
        chosen = [inside[c] for c in turns[some] if len(np.unique(values[inside[c]])) > 1] or [inside[turns[0]]]
        people = np.concatenate(chosen)
        now, seen = np.arange(len(labels)), np.zeros((len(people), int(values.max()) + 1))
        for step in range(_STEPS):
            i, j = rng.choice(chosen[rng.integers(len(chosen))], 2, replace=False)
            trial = now.copy()
            trial[[i, j]] = now[[j, i]]
            if values[trial[i]] == values[now[i]] or self._same(case, release, trial):
                now = trial
            if step >= _STEPS // 5:  # it has forgotten some of where it started
                seen[np.arange(len(people)), values[now[people]]] += 1
        same = labels[people][:, None] == labels[people]
        equal = (same & (values[people][:, None] == values[people])).sum(axis=0)
        found = np.where(same, seen[:, values[people]] / equal, 0.0)
        what = (
            f"which values are a person's (estimated by a chain of {_STEPS:,} steps over assignments with the same "
            "classes, if the links of all other classes are known)"
        )
        fair = float(_shares(labels)[people].sum())
        return Attempt.of(self.key, len(people), round(right_guesses(found)), fair, what)

    def _atoms(self, case: Case, release: _Release) -> Ints:
        """Return the atoms that the method united, otherwise the classes."""
        assert case.replay is not None
        return _numbered(case.replay(release.truth, atoms=True))


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
