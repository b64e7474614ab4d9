"""Components of a run: method, release, encoding and steering with their parameters, and models to audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, replace
from dataclasses import fields as fields_of
from numbers import Real
from typing import Any, TypeVar

from shoal import registry
from shoal.errors import DataError, ParameterError, raise_all
from shoal.parameters import build, declarations, shown, unknown
from shoal.recipe.fields import NOISE
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import (
    Required,
    misplaced,
    model_of,
    of_confidential,
    of_persons,
    of_population,
    resolve,
)
from shoal.types import ConfidentialModel, Finding, Partition, Release, Requirement
from shoal.types.protocols import Partitioner, Releaser, Sink, Steering

T = TypeVar("T")


def components(recipe: Recipe, encoding: type[T], sink: type[Sink] | None) -> tuple[Partitioner, Releaser, T]:
    """Make method, release and encoding; each parameter of `set` goes to those that declare it."""
    method, release = registry.load("partition", recipe.method), registry.load("release", recipe.release)
    levels = _levels_for(method, recipe)
    fields_taken = {"k", "t", "attacker", *(("effort",) if method.searches else ()), *levels, *NOISE, *release.takes}
    known = {d.name for cls in (method, release, encoding, sink) if cls for d in declarations(cls)} - fields_taken
    raise_all(
        ParameterError,
        [unknown("Recipe", "parameter (in set)", n, known) for n in recipe.set if n not in known],
    )
    if recipe.t is None and method.promises_t and not _optional(method, "t"):
        raise ParameterError(
            f"{method.__name__}: t must be given, got none. Set how close classes must be, for example t = 0.2."
        )
    given = {**recipe.set, "k": recipe.k, **({} if recipe.t is None else {"t": recipe.t}), **levels}
    given |= {name: getattr(recipe, name) for name in ("attacker", *release.takes)}
    if method.searches:
        given["effort"] = recipe.effort
    return _built(method, given), _built(release, given), _built(encoding, given)


def _built(cls: type[T], given: Mapping[str, Any]) -> T:
    """Make a component from those of the given parameters that it declares."""
    return build(cls, {d.name: given[d.name] for d in declarations(cls) if d.name in given})


def _levels_for(method: type[Partitioner], recipe: Recipe) -> dict[str, float]:
    """Return the levels of the models that a method promises itself, as the recipe requires them."""
    levels: dict[str, float] = {}
    for key in method.promises:
        asked = [one for one in resolve("Recipe", recipe.require) if one.key == key]
        if len(asked) != 1:
            model = registry.load("privacy", key)
            raise ParameterError(
                f"{method.__name__}: {key} must be required once, at one level, got {len(asked) or 'none'}. Write "
                f"for example --require {model.short}={model.example}."
            )
        levels |= dict(asked[0].levels)
    return levels


def _optional(cls: type, name: str) -> bool:
    return any(f.name == name and f.default is not MISSING for f in fields_of(cls))


def as_promised(partition: Partition, method: Partitioner) -> Partition:
    """Return a partition whose blocks promise k only if the method declares that promise.

    A method that declares a parameter with which k counts promises k where that parameter is set.
    """
    if method.promises_k or (method.k_counts_with and getattr(method, method.k_counts_with)):
        return partition
    return replace(partition, blocks=tuple(replace(block, promised=False) for block in partition.blocks))


def refuse_without_k(method: type[Partitioner], fields: Sequence[str]) -> None:
    """Refuse demands on a method that does not promise classes of at least k records."""
    if fields and not method.promises_k:
        raise ParameterError(
            f"{method.__name__}: {' and '.join(filter(None, (', '.join(fields[:-1]), fields[-1])))} cannot be used, "
            "because this method forms no classes of at least k records. Choose another method."
        )


def refuse_classes_of_people(method: type[Partitioner]) -> None:
    """Refuse methods that cannot partition people with all their records as points."""
    looks = (method.promises_t or bool(method.promises)) and not method.searches  # auto looks at values only for t
    if looks or method.forms_blocks or method.insensitive or method.dimensions is not None or method.k_counts_with:
        raise ParameterError(
            f"{method.__name__}: subject_out = pseudonym needs a method that forms one block of classes from "
            "quasi-identifiers in any number of coordinates, which this one may not. Choose auto, or leave out "
            "subject_out."
        )


def one_block(method: type[Partitioner], blocks: int) -> None:
    """Refuse requirements if quasi-identifiers are partitioned in blocks: joint classes are not controlled."""
    if blocks > 1:
        raise ParameterError(
            f"{method.__name__}: t and require are not possible where quasi-identifiers are partitioned in blocks, "
            f"got {blocks} of them: nothing is promised over all blocks together. Leave them out, or use one block."
        )


def enough_records(method: Partitioner, n: int) -> None:
    """Refuse a k above n records. If k does not count records, the method must check it itself."""
    if method.promises_k and n < method.k:
        raise DataError(
            f"{type(method).__name__}: k must be at most the number of records, got k = {method.k:,} and {n:,} in the "
            f"table. Lower k."
        )


_HEAVIEST = 1e300  # so that no coordinate overflows


def steering_makers(
    tables: Sequence[Mapping[str, Any]], method: type[Partitioner]
) -> tuple[tuple[Steering, float], ...]:
    """Return the maker and weight of each artificial attribute; refuse methods that cannot be steered."""
    if tables:
        _steerable(method)
    return tuple(_maker(table) for table in tables)


def _maker(table: Mapping[str, Any]) -> tuple[Steering, float]:
    """Return the maker of an artificial attribute, and its weight."""
    by, weight = table.get("by"), table.get("weight", 1.0)
    if by not in registry.keys("steer"):
        raise ParameterError(unknown("steer", "steering (by)", by, registry.keys("steer")))
    if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 <= float(weight) <= _HEAVIEST:
        raise ParameterError(f"steer: weight must be a number ≥ 0 and ≤ {_HEAVIEST:g}, got {shown(weight)}.")
    rest = {name: value for name, value in table.items() if name not in ("by", "weight")}
    return build(registry.load("steer", str(by)), rest), float(weight)


def _steerable(method: type[Partitioner]) -> None:
    """Refuse methods that artificial coordinates would not steer, or that have their own."""
    why = ""
    if not method.promises_k:
        why = "because this method forms no classes of at least k records"
    elif method.dimensions is not None:
        why = f"because this method takes exactly {method.dimensions} coordinate"
    elif method.steers:
        why = "because this method has an artificial attribute of its own and scales all others"
    if why:
        raise ParameterError(f"{method.__name__}: steer is not possible, {why}. Choose another method.")


def required_in(recipe: Recipe) -> list[Required]:
    """Return every requirement of a recipe except k, including t."""
    from shoal.privacy.n_t_closeness import NTCloseness
    from shoal.privacy.t_closeness import TCloseness

    if recipe.t is None:
        return resolve("Recipe", recipe.require)
    model = TCloseness(recipe.t) if recipe.n is None else NTCloseness(recipe.n, recipe.t)
    key = "t_closeness" if recipe.n is None else "n_t_closeness"
    return [Required(key, model), *resolve("Recipe", recipe.require)]


def of_values(required: Sequence[Required]) -> list[Required]:
    """Return the requirements on confidential columns."""
    return [one for one in required if of_confidential(one.key)]


def of_persons_in(recipe: Recipe) -> list[Required]:
    """Return the models about single people: at the level that a recipe requires, or for information."""
    asked = {one.key: one for one in resolve("Recipe", recipe.require) if of_persons(one.key)}
    keys = [key for key in registry.keys("privacy") if of_persons(key)]
    return [asked.get(key) or Required(key, model_of(key)()) for key in keys]


def of_population_in(required: Sequence[Required], *, given: bool) -> list[Required]:
    """Return the models that count people of a population: as required and, if one is given, for information."""
    asked = [one for one in required if of_population(one.key)]
    others = [key for key in registry.keys("privacy") if of_population(key) and all(one.key != key for one in asked)]
    return [*asked, *(Required(key, model_of(key)()) for key in others if given)]


def as_requirements(required: Sequence[Required], names: Sequence[str]) -> tuple[Requirement, ...]:
    """Convert the requirements on people and on confidential attributes to the form that methods use."""
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


def reported_models(required: Sequence[Required], confidential: Sequence[str]) -> list[Required]:
    """Return the models that are audited for information, because nothing is required by them."""
    found = []
    for key in registry.keys("privacy"):
        model = model_of(key)
        if not model.reported or not model.of_confidential:
            continue
        asked = [one for one in required if one.key == key]
        rest = [name for name in confidential if not any(one.columns is None or name in one.columns for one in asked)]
        if rest:
            found.append(Required(key, model(), tuple(rest)))
    return found


def about_confidential(owner: str, required: Sequence[Required], confidential: Sequence[str]) -> None:
    """Refuse requirements on columns that are not confidential."""
    for fault in misplaced(owner, required, confidential, " (--confidential)"):
        raise ParameterError(fault)


def findings_of(
    release: Release, names: Sequence[str], required: Sequence[Required], confidential: Sequence[str]
) -> list[Finding]:
    """Audit a release by each model; its confidential columns must be readable."""
    found: list[Finding] = []
    for one in required:
        if isinstance(one.model, ConfidentialModel):
            found += one.model.audit(release, names, one.columns or confidential)
        else:
            found.append(one.model.audit(release, names))
    return found


def unpromised(release: Release, names: tuple[str, ...], note: str) -> Finding:
    """Report the k of columns for which none is promised."""
    from shoal.privacy.k_anonymity import KAnonymity

    found = KAnonymity().audit(release, names)
    notes = ["no k-anonymity of records is promised", note, found.note]
    return replace(found, promised=False, note="; ".join(text for text in notes if text))
