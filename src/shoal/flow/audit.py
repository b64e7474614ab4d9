"""Audit of any table, whether or not shoal made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import registry
from shoal.errors import DataError, ParameterError, SchemaError, raise_all
from shoal.flow.plan.components import about_confidential, findings_of, of_persons_in, of_population_in, reported_models
from shoal.flow.plan.merging import (
    is_mergeable,
    merged_findings,
    numbers,
    references_in,
    refuse_unmergeable,
    release_of,
)
from shoal.flow.stages.batches import Batches, can_be_batched, files_of, joined, open_files
from shoal.flow.stages.parts import InParts, Wanted, fits, parts_needed, split
from shoal.flow.stages.population import Population, read_population
from shoal.flow.stages.read import listed, open_source
from shoal.flow.stages.values import named, with_values
from shoal.io.manifest import refuse_changed
from shoal.locations import Place
from shoal.memory import ceiling
from shoal.parameters import unknown
from shoal.privacy.counting.classes import people_of
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, refuse_without_population, resolve
from shoal.schema.cell_summary import CellSummary
from shoal.scratch import scratch_folder
from shoal.types import Audit, Dialect, Finding, Kind, Reference, Release, Role, Schema

_SAMPLE = 100_000
_SETS = "k_sets"
_ONE_BY_ONE = "all records of a subject together were not compared, which needs the table in memory"


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

    def wanted(self, there: Sequence[str]) -> Wanted:
        """Return the columns to read of a table in parts, or refuse what it lacks."""
        recipe = self.recipe
        about_confidential("Audit", resolve("Audit", self.require), recipe.confidential)
        faults = [unknown("Schema", "column", name, there) for name in recipe.roles if name not in there]
        raise_all(SchemaError, faults)
        return Wanted(recipe.quasi, tuple(recipe.roles), recipe.confidential)


def audit_frame(frame: Any, asked: Asked, population: Any = None) -> Audit:
    """Audit a frame as it is; `population` is a place or a frame."""
    from shoal.io.sources.frame import Frame

    refuse_without_population("Audit", resolve("Audit", asked.require), given=population is not None)
    data, unread = Frame().read(frame)
    people = None if population is None else read_population(population, {})
    return _audit(data, None, unread, asked, people)


def audit_file(
    place: Place, asked: Asked, text: Mapping[str, Any], memory: str | int | None = None, population: Any = None
) -> Audit:
    """Audit a file, or a folder of files, as it is: quasi-identifiers are compared as written, other cells are parsed.

    A table that is too large for the memory is audited in parts on disk. `memory` is the ceiling, such as ``2GB``;
    without one it is the available memory. `population` is a place or a frame; then the table must fit into memory.
    """
    limit = ceiling(memory)
    refuse_without_population("Audit", resolve("Audit", asked.require), given=population is not None)
    people = None if population is None else read_population(population, text)
    if not isinstance(place.at, Path) or not can_be_batched(place):
        data, dialect = open_source(place, text).read(place.at)
        return _audit(data, dialect, (), asked, people)
    paths = files_of(place.at)
    refuse_changed(place.at)
    if not can_be_batched(Place(paths[0])) or fits(paths, limit):
        tables = [open_source(replace(place, at=path), text).read(path) for path in paths]
        return _audit(joined(paths, [data for data, _ in tables]), tables[0][1], (), asked, people)
    if people is not None:
        raise ParameterError(
            "Audit: a population can only be counted with the whole table in memory, which is too small for it. Raise "
            "the memory, or leave out --population."
        )
    with scratch_folder() as scratch:
        return _audit_parts(open_files(paths, text, place.options), asked, limit, scratch)


def _audit_parts(files: Batches, asked: Asked, memory: int, scratch: Path) -> Audit:
    """Audit a table in parts that each hold whole classes."""
    recipe, wanted = asked.recipe, asked.wanted(files.arrow.names)
    count = parts_needed(files, wanted, memory, people=asked.subject is not None) if recipe.quasi else 1
    if count == 1:
        (data,) = split(files, wanted, parts=1, memory=memory, scratch=scratch).tables()
        return _audit(data, files.dialect, (), asked)
    refuse_unmergeable(resolve("Audit", asked.require))
    parts = split(files, wanted, parts=count, memory=memory, scratch=scratch)
    try:
        return audit_in_parts(parts, files.arrow, files.dialect, asked)
    except DataError:  # it may be about the rows of a part
        _refuse_unreadable_weights(files, recipe)
        raise


def _refuse_unreadable_weights(files: Batches, recipe: Recipe) -> None:
    """Refuse text files with weights that are not numbers, with the rows of the table."""
    dialect = files.dialect
    if dialect is None:
        return
    for name in recipe.columns(Role.WEIGHT):
        summary = CellSummary()
        for table in files.read([name]):
            summary = summary.merged(CellSummary.of(table.column(name), Kind.CONTINUOUS, dialect))
        if not summary.readable:
            raise DataError(summary.refusal(name, Kind.CONTINUOUS, dialect))


def audit_in_parts(parts: InParts, arrow: pa.Schema, dialect: Dialect | None, asked: Asked) -> Audit:
    """Audit a table in parts that each hold whole classes, wherever they are."""
    recipe, required = asked.recipe, resolve("Audit", asked.require)
    refuse_unmergeable(required)
    schema = _schema(parts, arrow, dialect, recipe)
    look = _FindInPart(
        asked,
        schema,
        dialect,
        references_in(parts, schema, arrow, dialect),
        [one for one in _models(recipe, required) if is_mergeable(one.key)],
    )
    findings = merged_findings(list(parts.map(look)))
    if asked.subject is not None:
        findings[0] = replace(findings[0], note=f"{findings[0].note}; {_ONE_BY_ONE}")
    return Audit(parts.records, recipe.quasi, recipe.confidential, findings[0], tuple(findings))


@dataclass(frozen=True)
class _FindInPart:
    """Audits a part of a table."""

    asked: Asked
    schema: Schema
    dialect: Dialect | None
    references: Mapping[str, Reference] = field(repr=False)
    models: Sequence[Required]

    def __call__(self, part: pa.Table) -> list[Finding]:
        asked, recipe = self.asked, self.asked.recipe
        release = release_of(part, self.schema, self.dialect, self.references)
        release = replace(release, subjects=named(part, asked.subject), subject_exact=asked.subject_exact)
        return findings_of(_weighed(release, recipe), recipe.quasi, self.models, recipe.confidential)


def _schema(parts: InParts, arrow: pa.Schema, dialect: Dialect | None, recipe: Recipe) -> Schema:
    """Return the schema of a table in parts; kinds of confidential columns follow from all their distinct cells."""
    from shoal.schema.kinds import kind_of
    from shoal.schema.roles import schema_of

    kinds = {**dict.fromkeys(recipe.roles, Kind.NOMINAL), **dict.fromkeys(recipe.columns(Role.WEIGHT), Kind.CONTINUOUS)}
    for name, (cells, counts) in parts.distributions.items():
        often = np.ceil(counts * (_SAMPLE / parts.records)).astype(np.int64)  # at least once each
        column = cells.take(pa.array(np.repeat(np.arange(len(counts)), often)))
        if name in parts.orders:
            kinds[name] = Kind.ORDINAL
        else:
            kinds[name] = kind_of(column, dialect, arrow.field(name).with_type(column.type))
    kinds |= dict.fromkeys(recipe.taxonomies, Kind.NOMINAL)
    columns = arrow.empty_table().select(list(recipe.roles))
    return schema_of(columns, recipe.roles, {**kinds, **recipe.kinds}, dialect, (), recipe.taxonomies)


def _audit(
    data: pa.Table, dialect: Dialect | None, unread: tuple[str, ...], asked: Asked, people: Population | None = None
) -> Audit:
    from shoal.schema.roles import schema_of

    recipe = asked.recipe
    required = resolve("Audit", asked.require)
    about_confidential("Audit", required, recipe.confidential)
    # both read quasi-identifiers as positions
    placed = people is not None or any(one.key == "n_t_closeness" for one in required)
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
    models = [*_models(recipe, required), *_of_linked_records(release, recipe, required)]
    if people is not None:
        if asked.subject is None:
            people.refuse_smaller_than(data.num_rows)
        else:
            people.refuse_smaller_than(
                len(np.unique(people_of(release).codes)), f" different values of {asked.subject!r}"
            )
        release = replace(release, population=people.parsed(schema, recipe.quasi))
        models += [one for one in of_population_in(required, given=True) if one not in models]
    findings = findings_of(release, recipe.quasi, models, recipe.confidential)
    return Audit(data.num_rows, recipe.quasi, recipe.confidential, findings[0], tuple(findings))


def _models(recipe: Recipe, required: Sequence[Required]) -> list[Required]:
    """Return the models to audit: those required, and the others for information."""
    models = [*required, *reported_models(required, recipe.confidential)]
    if not any(one.key == "k_anonymity" for one in models):
        models.insert(0, Required("k_anonymity", registry.load("privacy", "k_anonymity")()))
    models += [one for one in of_persons_in(recipe) if not any(other.key == one.key for other in models)]
    models.sort(key=lambda one: one.key != "k_anonymity")  # k-anonymity comes first
    return models


def _of_linked_records(release: Release, recipe: Recipe, required: Sequence[Required]) -> list[Required]:
    """Return the model of sets of combinations if the table shows which of its records belong to one person.

    Without it, k-anonymity of each combination would hide that all records of a person together may be unique.
    """
    if not recipe.quasi or release.subjects is None or any(one.key == _SETS for one in required):
        return []
    if release.subjects.null_count or len(np.unique(people_of(release).codes)) == release.data.num_rows:
        return []
    return [Required(_SETS, registry.load("privacy", _SETS)())]


def _weighed(release: Release, recipe: Recipe) -> Release:
    """Return a release with its weights parsed; they must be numbers."""
    for name in recipe.columns(Role.WEIGHT):
        if release.schema[name].kind not in (Kind.CONTINUOUS, Kind.INTEGER):
            raise SchemaError(f"Column {name!r}: a weight must be a number, this one is {release.schema[name].kind}.")
    release = with_values(release, recipe.columns(Role.WEIGHT))
    for name in recipe.columns(Role.WEIGHT):
        release = replace(release, weights=numbers(release.values(name)))
    return release
