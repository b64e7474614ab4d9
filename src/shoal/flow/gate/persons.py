"""What single persons hold of classes, as it is audited and published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from shoal.flow.plan.release_traits import by_grouping, in_two_tables
from shoal.flow.plan.required_models import of_persons_in
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required
from shoal.types import Finding, Release

_DIGITS = 3  # of a figure that depends on weights or subjects, which are not released


def of_persons(release: Release, recipe: Recipe, over: Sequence[tuple[str, ...]]) -> list[Finding]:
    """Audit by each model about persons, over each of some sets of columns.

    Where noise is added only what is required is said: the figure is not covered by ε.
    """
    models = [one for one in of_persons_in(recipe) if recipe.epsilon is None or _required(one)]
    if not models:
        return []
    seen = release if by_grouping(recipe) or in_two_tables(recipe) else _by_classes(release)
    found = [one.model.audit(seen, names) for one in models for names in over]
    return [published(finding) for finding in found] if depends_on_hidden(recipe) else found


def _required(one: Required) -> bool:
    return any(level is not None for _, level in one.levels)


def depends_on_hidden(recipe: Recipe) -> bool:
    """Tell whether shares of persons depend on what is not released: subjects, or weights as they were."""
    return recipe.counted is not None or (recipe.weight is not None and recipe.release_weight != "record")


def published(finding: Finding) -> Finding:
    """Return a finding whose figure has three digits, rounded up, but not above what is required and holds.

    >>> published(Finding("dominance", ("age",), 0.41239, 0.5, True, 9)).achieved
    0.413
    """
    if not 0 < finding.achieved < 1:
        return finding
    step = 10.0 ** (_DIGITS - 1 - math.floor(math.log10(finding.achieved)))
    up = math.ceil(finding.achieved * step * (1 - 1e-12)) / step
    if finding.required is not None:
        up = min(up, finding.required) if finding.holds else finding.achieved
    return replace(finding, achieved=up)


def dominant(finding: Finding) -> bool:
    """Tell whether a finding is about the largest share of a person."""
    return finding.model == "dominance"


def _by_classes(release: Release) -> Release:
    """Return a release with the numbers of classes in place of values, where equal values are no classes."""
    import pyarrow as pa

    numbers = {name: pa.chunked_array([pa.array(labels)]) for name, labels in release.classes.items()}
    columns = {name: numbers.get(name, release.data.column(name)) for name in release.data.column_names}
    return replace(release, data=pa.table(columns))
