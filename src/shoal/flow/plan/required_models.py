"""What must hold of a table, and what is reported besides: the models that an audit looks through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from shoal import registry
from shoal.errors import DataError, ParameterError, listing, raise_all
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, misplaced, of_confidential, of_persons, resolve
from shoal.types import Finding, Release, Requirement


def required_in(recipe: Recipe) -> list[Required]:
    """Return everything that a recipe requires besides k, t among it."""
    from shoal.privacy.n_t_closeness import NTCloseness
    from shoal.privacy.t_closeness import TCloseness

    if recipe.t is None:
        return resolve("Recipe", recipe.require)
    model = TCloseness(recipe.t) if recipe.n is None else NTCloseness(recipe.n, recipe.t)
    key = "t_closeness" if recipe.n is None else "n_t_closeness"
    return [Required(key, model), *resolve("Recipe", recipe.require)]


def of_values(required: Sequence[Required]) -> list[Required]:
    """Return what is required of confidential columns."""
    return [one for one in required if of_confidential(one.key)]


def of_persons_in(recipe: Recipe) -> list[Required]:
    """Return the models about single persons: at the level that a recipe requires, or for information."""
    asked = {one.key: one for one in resolve("Recipe", recipe.require) if of_persons(one.key)}
    keys = [key for key in registry.keys("privacy") if of_persons(key)]
    return [asked.get(key) or Required(key, registry.load("privacy", key)()) for key in keys]


def as_requirements(required: Sequence[Required], names: Sequence[str]) -> tuple[Requirement, ...]:
    """Return what is required of persons, and of each of some confidential attributes, as methods see it."""
    persons = [Requirement(one.key, "", one.levels) for one in required if of_persons(one.key)]
    return (
        *persons,
        *(
            Requirement(one.key, name, one.levels)
            for one in of_values(required)
            for name in names
            if one.columns is None or name in one.columns
        ),
    )


def reported_besides(required: Sequence[Required], confidential: Sequence[str]) -> list[Required]:
    """Return the models that are looked at for information, where nothing is required by them."""
    found = []
    for key in registry.keys("privacy"):
        model = registry.load("privacy", key)
        if not getattr(model, "reported", False) or not of_confidential(key):
            continue
        asked = [one for one in required if one.key == key]
        rest = [name for name in confidential if not any(one.columns is None or name in one.columns for one in asked)]
        if rest:
            found.append(Required(key, model(), tuple(rest)))
    return found


def about_confidential(owner: str, required: Sequence[Required], confidential: Sequence[str]) -> None:
    """Refuse requirements of columns that are not said to be confidential."""
    for fault in misplaced(owner, required, confidential, " (--confidential)"):
        raise ParameterError(fault)


def findings_of(
    release: Release, names: Sequence[str], required: Sequence[Required], confidential: Sequence[str]
) -> list[Finding]:
    """Audit a release by each model; it must be possible to read the confidential columns."""
    found: list[Finding] = []
    for one in required:
        if of_confidential(one.key):
            found += one.model.audit(release, names, one.columns or confidential)
        else:
            found.append(one.model.audit(release, names))
    return found


def refuse_infeasible(
    release: Release, strata: Sequence[str], required: Sequence[Required], confidential: Sequence[str]
) -> None:
    """Refuse requirements that do not hold even if classes are as large as they can be.

    A class can be no more than all records, or all of a stratum. Of what does not hold of these it is said what would:
    the level that they achieve.

    Parameters
    ----------
    release
        The table before anything was done to it, its confidential columns read.
    strata
        Columns whose values classes never cross.
    required
        The models at their levels.
    confidential
        The confidential columns.
    """
    found = findings_of(release, tuple(strata), required, confidential)
    raise_all(DataError, [_sentence(finding, strata) for finding in found if not finding.holds])


def _sentence(finding: Finding, strata: Sequence[str]) -> str:
    where = f" of column {finding.confidential!r}" if finding.confidential is not None else ""
    counted = f" ({finding.note})" if finding.confidential is None and finding.note else ""
    who = f"a stratum of {listing([repr(name) for name in strata])} holds" if strata else "all records together hold"
    name, required, achieved = _lacking(finding)
    more = required > achieved
    given = "".join(f" with {of} = {value:g}" for of, value in finding.given if of != name)
    if more and achieved <= 0:
        allowed = "cannot be had at all"
    else:
        allowed = f"must be {'at most' if more else 'at least'} {_towards(achieved, down=more)}"
    return (
        f"{finding.model}{where}: {name} {allowed}{given}, got {required:g}: {who} no "
        f"{'more' if more else 'less'}{counted}. {'Lower' if more else 'Raise'} {name}"
        f"{', or leave out strata' if strata else ''}."
    )


def _lacking(finding: Finding) -> tuple[str, float, float]:
    """Return what is required and not achieved: (name, required, achieved), a further number of the model first."""
    given = dict(finding.given)
    for name, achieved in finding.found:
        if name in given and achieved < given[name]:
            return name, given[name], achieved
    assert finding.required is not None  # for it does not hold
    return finding.level, finding.required, finding.achieved


def _towards(value: float, *, down: bool) -> str:
    """Return a number with few digits, rounded to the side that can be had.

    >>> _towards(2.99999999, down=True), _towards(0.123456789, down=False), _towards(4, down=True)
    ('2.99999', '0.123457', '4')
    """
    if value == 0 or float(value).is_integer():
        return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    digits = 5 - math.floor(math.log10(abs(value)))
    scaled = Fraction(repr(float(value))) * Fraction(10) ** digits
    whole = math.floor(scaled) if down else math.ceil(scaled)
    return f"{float(Fraction(whole) / Fraction(10) ** digits):g}"
