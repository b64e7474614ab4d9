"""Required and reported models: everything that an audit checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal import registry
from shoal.errors import ParameterError
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, misplaced, model_of, of_confidential, of_persons, resolve
from shoal.types import ConfidentialModel, Finding, Release, Requirement


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
