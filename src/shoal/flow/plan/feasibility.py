"""Feasibility: refusal of demands that no partition can meet, and of settings weaker than the recipe."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from shoal.errors import DataError, ParameterError, listing, raise_all
from shoal.flow.plan.components import findings_of
from shoal.flow.stages.summary import GROUP, Summary, Tally
from shoal.flow.stages.values import categories, respelled, told_apart
from shoal.parameters import shown
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, of_confidential
from shoal.types import Finding, Release, Schema, Setting, Table
from shoal.types.explored import demands_in_words
from shoal.types.privacy_ledger import sequential


def refuse_small_strata(summary: Summary, recipe: Recipe, k: int) -> None:
    """Refuse strata that hold fewer than k records."""
    if summary.strata is None:
        return
    sizes = summary.strata.counts
    if sizes.min() < k:
        raise DataError(
            f"Strata of {_quoted(recipe.strata)}: every stratum must hold at least k = {k} records; "
            f"{int((sizes < k).sum()):,} of {len(sizes):,} hold fewer (the smallest {int(sizes.min())}). Merge them "
            "(small_strata = merge), or lower k."
        )


def refuse_ungrouped(summary: Summary, recipe: Recipe) -> None:
    """Refuse records without a group, if groups are never split."""
    if summary.ungrouped:
        raise DataError(
            f"Column {recipe.together!r}: every record must have a group; {summary.ungrouped:,} of "
            f"{summary.records:,} values are missing. Fill them, or leave out together."
        )


def refuse_varying_groups(summary: Summary, recipe: Recipe, schema: Schema) -> None:
    """Refuse group attributes that differ among the records of a group."""
    faults = []
    for name in recipe.household_level if summary.by_group else ():
        several, count = _varying(summary.by_group[name])
        if several:
            faults.append(
                f"Column {name!r}: household_level must name columns with one value per group of "
                f"{recipe.together!r}; values differ in {several:,} of {count:,} groups. Correct them, or remove the "
                "column from household_level." + _respelled(summary, recipe, schema)
            )
    raise_all(DataError, faults)


def refuse_split_groups(summary: Summary, recipe: Recipe, schema: Schema) -> None:
    """Refuse groups that span several strata: they could not be kept whole."""
    if "" not in summary.by_group:
        return
    several, count = _varying(summary.by_group[""])
    if several:
        raise DataError(
            f"Strata of {_quoted(recipe.strata)}: every group of {recipe.together!r} must be in one stratum; "
            f"{several:,} of {count:,} are in several. Leave out strata, or together."
            + _respelled(summary, recipe, schema)
        )


def refuse_rare_profiles(summary: Summary, recipe: Recipe, schema: Schema, k: int) -> None:
    """Refuse people whose number of records in each stratum fewer than k people share, if pseudonyms are released."""
    if recipe.pseudonym is None or summary.people is None:
        return
    rows, counts = summary.people.rows, summary.people.counts
    column = told_apart(Table(rows, schema), recipe.pseudonym, exact=recipe.subject_exact)
    if column.null_count:
        lacking = int(counts[np.asarray(column.is_null().to_numpy())].sum())
        raise DataError(
            f"Column {recipe.pseudonym!r}: every record must name its person where pseudonyms are released; "
            f"{lacking:,} of {summary.records:,} values are missing. Fill them, or leave out subject_out."
        )
    codes = [categories(name, rows.column(name), "cannot be strata. Give it another role.") for name in recipe.strata]
    people: dict[Any, Counter[tuple[int, ...]]] = {}
    for at, (person, count) in enumerate(zip(column.to_pylist(), counts.tolist(), strict=True)):
        people.setdefault(person, Counter())[tuple(int(one[at]) for one in codes)] += count
    shared = Counter(frozenset(records.items()) for records in people.values())
    if small := [number for number in shared.values() if number < k]:
        like = "as many records" + (f" in each stratum of {_quoted(recipe.strata)}" if recipe.strata else "")
        raise DataError(
            f"Column {recipe.pseudonym!r}: pseudonyms show how many records a person has, so at least k = {k} people "
            f"must have {like} as each person; for {sum(small):,} of {len(people):,} there are fewer. Let suppress "
            "drop them, keep equally many records of each person, lower "
            f"k{', leave out strata' if recipe.strata else ''}"
            ", or leave out subject_out." + _respelled(summary, recipe, schema)
        )


def refuse_infeasible(summary: Summary, recipe: Recipe, schema: Schema, required: Sequence[Required]) -> None:
    """Refuse requirements that fail even for the largest possible classes.

    A class can hold at most all records, or all of a stratum. The sentence says which level these achieve.
    """
    from shoal.privacy.k_anonymity import KAnonymity

    asked = [one for one in required if one.key != "n_t_closeness"]  # implied by t
    found: list[Finding] = []
    if recipe.counted is not None:
        asked.insert(0, Required("k_anonymity", KAnonymity(recipe.k)))
    for one in asked:
        if not of_confidential(one.key):
            found += findings_of(_people(summary, recipe, schema), recipe.strata, [one], ())
            continue
        for name in one.columns or recipe.confidential:
            release = Release(summary.values[name].records(), schema)
            found += findings_of(release, recipe.strata, [one], [name])
    raise_all(DataError, [_sentence(finding, recipe.strata) for finding in found if not finding.holds])


def _people(summary: Summary, recipe: Recipe, schema: Schema) -> Release:
    """Return the people of each stratum: one row per record, or, with weights, per person."""
    tally = summary.people
    assert tally is not None  # always counted if people are
    weighted = recipe.weight is not None and recipe.release_weight != "record"
    rows = tally.rows if weighted and tally.weights is not None else tally.records()
    weights = (rows.column("weight").to_numpy() if tally.weights is None else tally.weights) if weighted else None
    subjects = None if recipe.counted is None else rows.column(recipe.counted)
    return Release(rows, schema, None, subjects, subject_exact=recipe.subject_exact, weights=weights)


def _varying(tally: Tally) -> tuple[int, int]:
    """Return how many groups have more than one combination of values, and how many groups there are."""
    groups = np.bincount(categories(GROUP, tally.rows.column(GROUP), ""))
    return int((groups > 1).sum()), len(groups)


def _respelled(summary: Summary, recipe: Recipe, schema: Schema) -> str:
    return "" if summary.people is None else respelled(Table(summary.people.rows, schema), recipe)


def _quoted(names: Sequence[str]) -> str:
    return listing([repr(name) for name in names])


def _sentence(finding: Finding, strata: Sequence[str]) -> str:
    where = f" of column {finding.confidential!r}" if finding.confidential is not None else ""
    counted = f" ({finding.note})" if finding.confidential is None and finding.note else ""
    who = f"a stratum of {listing([repr(name) for name in strata])} has" if strata else "the whole table has"
    name, required, achieved = _lacking(finding)
    more = required > achieved
    given = "".join(f" with {of} = {value:g}" for of, value in finding.given if of != name)
    if more and achieved <= 0:
        allowed = "is impossible"
    else:
        allowed = f"must be {'at most' if more else 'at least'} {_towards(achieved, down=more)}"
    return (
        f"{finding.model}{where}: {name} {allowed}{given}, got {required:g}: {who} no "
        f"{'more' if more else 'less'}{counted}. {'Lower' if more else 'Raise'} {name}"
        f"{', or leave out strata' if strata else ''}."
    )


def _lacking(finding: Finding) -> tuple[str, float, float]:
    """Return a requirement that is not achieved: (name, required, achieved), an extra parameter first."""
    given = dict(finding.given)
    for name, achieved in finding.found:
        if name in given and achieved < given[name]:
            return name, given[name], achieved
    assert finding.required is not None  # because it does not hold
    return finding.level, finding.required, finding.achieved


def _towards(value: float, *, down: bool) -> str:
    """Format a number with few digits, rounded towards the side that is achievable.

    >>> _towards(2.99999999, down=True), _towards(0.123456789, down=False), _towards(4, down=True)
    ('2.99999', '0.123457', '4')
    """
    if value == 0 or float(value).is_integer():
        return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
    digits = 5 - math.floor(math.log10(abs(value)))
    scaled = Fraction(repr(float(value))) * Fraction(10) ** digits
    whole = math.floor(scaled) if down else math.ceil(scaled)
    return f"{float(Fraction(whole) / Fraction(10) ** digits):g}"


def demands(recipe: Recipe) -> dict[str, float]:
    """Return the k and t that a recipe demands; a default value is not a demand.

    >>> demands(Recipe(quasi=["age"])), demands(Recipe(quasi=["age"], k=5))
    ({}, {'k': 5})
    """
    asked = {"k": None if "k" in recipe.unset else recipe.k, "t": recipe.t}
    return {name: level for name, level in asked.items() if level is not None}


def shortfall(demanded: Mapping[str, float], k: int, t: float | None = None) -> str:
    """Return in words how a setting is weaker than demanded; "" if it is not.

    >>> shortfall({"k": 5, "t": 0.2}, 3, 0.1), shortfall({"k": 5}, 10)
    ('weaker than the recipe: k < 5', '')
    """
    faults = []
    if k < demanded.get("k", k):
        faults.append(f"k < {demanded['k']:,}")
    if t is not None and t > demanded.get("t", t):
        faults.append(f"t > {demanded['t']:,}")
    return f"weaker than the recipe: {', '.join(faults)}" if faults else ""


def unmet(demanded: Mapping[str, float]) -> str:
    """Return why nothing is recommended, if every setting that ran is weaker than the recipe."""
    said = demands_in_words(demanded)
    return f"No setting that ran meets the recipe's demand of {said}. Try settings that do, or change the recipe."


def of_demands(settings: Sequence[Setting], demanded: Mapping[str, float]) -> Iterator[str]:
    """Report how many of the settings that ran are weaker than the recipe."""
    if weaker := sum(setting.state == "ran" and not setting.meets for setting in settings):
        those = f"{weaker:,} weaker settings are" if weaker > 1 else "1 weaker setting is"
        yield (f"The recipe demands {demands_in_words(demanded)}: {those} shown for comparison, and never recommended.")


def refuse_weaker_noise(recipe: Recipe, noisy: Recipe) -> None:
    """Refuse to explore with a larger ε or weaker claim than the recipe's: the result may be released."""
    faults = [] if recipe.epsilon is None else _above(recipe.epsilon, noisy.epsilon)
    if recipe.claim == "original" and noisy.claim != "original":
        faults.append(
            f"Explore: claim must be 'original', as in the recipe, got {shown(noisy.claim)}, which promises less. "
            f"Leave it out, or change the recipe."
        )
    raise_all(ParameterError, faults)


def _above(most: Any, epsilon: Any) -> list[str]:
    """Return where ε exceeds the recipe's; either may be one number for all columns, or one per column."""
    if not isinstance(most, Mapping):
        levels = [("epsilon", most, sequential(epsilon.values()) if isinstance(epsilon, Mapping) else epsilon)]
    elif isinstance(epsilon, Mapping):
        levels = [(f"epsilon of {name!r}", most[name], own) for name, own in epsilon.items()]
    else:  # all columns share it, and one column may get nearly all of it
        levels = [("epsilon", min(most.values()), epsilon)]
    return [
        f"Explore: {name} must be at most {high:g}, as in the recipe, got {asked:g}. Lower it, or change the recipe."
        for name, high, asked in levels
        if asked > high
    ]
