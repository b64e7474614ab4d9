"""Audit of any table, whether or not shoal made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import DataError, SchemaError
from shoal.flow.plan.components import about_confidential, findings_of, of_persons_in, reported_models
from shoal.flow.stages.read import listed, open_source
from shoal.flow.stages.values import named, with_values
from shoal.locations import Place
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, resolve
from shoal.types import Audit, Dialect, Kind, Release, Role


@dataclass(frozen=True)
class Asked:
    """The request for an audit: column roles, required models, and facts that the columns do not carry."""

    quasi: Sequence[str]
    confidential: Sequence[str] = ()
    subject: str | None = None
    require: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    taxonomies: Mapping[str, Mapping[str, Any] | str] = field(default_factory=dict)
    weight: str | None = None
    subject_exact: bool = False

    @property
    def recipe(self) -> Recipe:
        """The same request as a recipe, which checks names and kinds."""
        return Recipe(
            quasi=listed("quasi", self.quasi),
            confidential=listed("confidential", self.confidential),
            subject=self.subject,
            weight=self.weight,
            subject_exact=self.subject_exact,
            kinds=self.kinds,
            taxonomies=self.taxonomies,
        )


def audit_frame(frame: Any, asked: Asked) -> Audit:
    """Audit a frame as it is."""
    from shoal.io.sources.frame import Frame

    data, unread = Frame().read(frame)
    return _audit(data, None, unread, asked)


def audit_file(place: Place, asked: Asked, text: Mapping[str, Any]) -> Audit:
    """Audit a file as it is: quasi-identifiers are compared as written, confidential cells are parsed."""
    data, dialect = open_source(place, text).read(place.at)
    return _audit(data, dialect, (), asked)


def _audit(data: pa.Table, dialect: Dialect | None, unread: tuple[str, ...], asked: Asked) -> Audit:
    from shoal.schema.roles import schema_of

    recipe = asked.recipe
    required = resolve("Audit", asked.require)
    about_confidential("Audit", required, recipe.confidential)
    placed = any(one.key == "n_t_closeness" for one in required)  # n_t_closeness reads quasi-identifiers as positions
    values = {*recipe.confidential, *recipe.columns(Role.WEIGHT)}
    told_apart = (name for name in recipe.roles if name not in values and not placed)
    kinds = {**dict.fromkeys(told_apart, Kind.NOMINAL), **recipe.kinds}
    schema = schema_of(data, recipe.roles, kinds, dialect, unread, recipe.taxonomies)
    whose = named(data, asked.subject)
    release = Release(data, schema, dialect, whose, subject_exact=asked.subject_exact)
    release = with_values(release, recipe.confidential)
    release = _weighed(release, recipe)
    for name in recipe.quasi if placed else ():
        try:
            release = with_values(release, [name])
        except DataError:  # the column has no positions, and the audit reports that
            continue
    models = [*required, *reported_models(required, recipe.confidential)]
    if not any(one.key == "k_anonymity" for one in models):
        models.insert(0, Required("k_anonymity", registry.load("privacy", "k_anonymity")()))
    models += [one for one in of_persons_in(recipe) if not any(other.key == one.key for other in models)]
    models.sort(key=lambda one: one.key != "k_anonymity")  # k-anonymity comes first
    findings = findings_of(release, recipe.quasi, models, recipe.confidential)
    return Audit(data.num_rows, recipe.quasi, recipe.confidential, findings[0], tuple(findings))


def _weighed(release: Release, recipe: Recipe) -> Release:
    """Return a release with its weights parsed; they must be numbers."""
    for name in recipe.columns(Role.WEIGHT):
        if release.schema[name].kind not in (Kind.CONTINUOUS, Kind.INTEGER):
            raise SchemaError(f"Column {name!r}: a weight must be a number, this one is {release.schema[name].kind}.")
    release = with_values(release, recipe.columns(Role.WEIGHT))
    for name in recipe.columns(Role.WEIGHT):
        release = replace(release, weights=_numbers(release.values(name)))
    return release


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the numbers unchanged; a missing one is NaN."""
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), np.float64)
