"""Table → Points → Partition → Release, with what it lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any

from shoal import progress, registry
from shoal.errors import DataError, ParameterError, SchemaError, data_rows, raise_all
from shoal.flow.certifying import certify
from shoal.flow.confidential import as_values, confidential_columns, with_values
from shoal.flow.enforcing import enforced, one_block, promises_t
from shoal.flow.feasibility import refuse_infeasible
from shoal.flow.households import groups_of, one_value_per_group, partition_together, strata_of_groups
from shoal.flow.measuring import measure
from shoal.flow.merged import as_merged
from shoal.flow.nested import partition_nested, way_of_groups
from shoal.flow.refining import refined
from shoal.flow.releasing import as_written, refuse_what_cannot_be_released, with_origins
from shoal.flow.requiring import as_requirements, required_in
from shoal.flow.steering import steering_in
from shoal.flow.strata import merge_small, merged_note, partition_strata, refuse_small, strata_of, with_strata
from shoal.flow.subjects import named, subjects_of
from shoal.parameters import build, declarations, unknown
from shoal.recipe import Recipe
from shoal.requirements import Required, resolve
from shoal.types import (
    Attribute,
    Block,
    Certificate,
    Column,
    Kind,
    Numbers,
    Partition,
    Points,
    Readings,
    Release,
    Role,
    Table,
    with_columns,
    without_unused,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def anonymise(
    table: Table, recipe: Recipe, *, certified: bool = False, sink: type | None = None
) -> tuple[Partition, Release, Readings, Certificate | None]:
    """Form the classes of a table, release them, measure what was lost, and certify it if asked to.

    Parameters of `set` may also be those of the sink, which are not for this to use.
    """
    import numpy as np

    from shoal.points.encoding import Encoding

    method, release, encoding = _components(recipe, Encoding, sink)
    if certified and not promises_k(method):
        raise ParameterError(
            f"{type(method).__name__}: nothing can be certified, for this method forms no classes of at least k "
            f"records. Leave out --certify, or take another method."
        )
    enough_records(method, len(table))
    required = required_in(recipe)
    refuse_what_cannot_be_released(release, recipe, table)
    if required:
        one_block(type(method), len(recipe.all_blocks))
    groups = groups_of(table, recipe, method)
    merging = recipe.small_strata == "merge" and promises_k(method)
    if not merging:
        _refuse_infeasible(table, recipe, required)
    counting = recipe.subject is not None or bool(recipe.household_level)
    more = bool(recipe.require) or (counting and promises_k(method))
    plain, method = method, refined(enforced(method, recipe.t, more=more), recipe.refine, recipe.t)
    rng = np.random.default_rng(recipe.seed)
    missing = "fill" if recipe.when_missing == "fill" else "category"
    typed, attributes = encode(table, table.schema.names(Role.QUASI), missing=missing)
    points = encoding.encode(attributes, recipe.attribute_weights)
    if required:
        asked = as_requirements(resolve("Recipe", recipe.require), recipe.confidential)
        points = replace(points, confidential=confidential_columns(table), required=asked)
    points = replace(points, subjects=subjects_of(table))
    strata, merged = _strata(table, recipe, points, k=recipe.k if promises_k(method) else 1, merging=merging)
    if merging and strata is not None:
        joined = replace(table, data=with_strata(table.data, recipe.strata, strata))
        _refuse_infeasible(joined, recipe, required)
    steering = steering_in(recipe, plain, points, table)
    progress.stage("Partition")
    seen = [points.only(names) for names in recipe.all_blocks]
    one_value_per_group(typed, recipe, groups)
    ways = (method, None if groups is None else way_of_groups(plain, recipe, groups))
    parts = _formed(recipe, [steering.onto(p) for p in seen], ways, groups, strata, rng)
    parts = [steering.without(part, p) for part, p in zip(parts, seen, strict=True)]
    notes = dict.fromkeys(note for note in (merged, *(part.note for part in parts)) if note)
    blocks = tuple(_noted(block, points) for part in parts for block in part.blocks)
    partition = Partition(blocks, "; ".join(notes))
    if merged and strata is not None:
        table, typed = as_merged(table, strata), as_merged(typed, strata)
    released, left = _released(release, table, typed, points, partition, _weights(table), rng)
    readings = measure(attributes, left)
    certificate = None
    if certified:
        progress.stage("Certify")
        tables = [points.only(block.attributes) for block in partition.blocks]
        certificate = certify(tables, [block.labels for block in partition.blocks], strata, recipe.k)
    return partition, released, readings, certificate


def _formed(
    recipe: Recipe,
    blocks: Sequence[Points],
    ways: tuple[Any, Any],
    groups: NDArray[np.int64] | None,
    strata: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> list[Partition]:
    """Partition each block: records in the first way, or whole groups in the second where these stay together."""
    if groups is None:
        return [partition_strata(points, ways[0], strata, rng) for points in blocks]
    inside = strata_of_groups(recipe, groups, strata)
    if recipe.nested:
        return partition_nested((blocks[0], blocks[1]), ways, groups, inside, strata, rng)
    return [
        partition_together(points, ways[1], groups, inside, rng)
        if names in recipe.whole_blocks
        else partition_strata(points, ways[0], strata, rng)
        for names, points in zip(recipe.all_blocks, blocks, strict=True)
    ]


def _strata(
    table: Table, recipe: Recipe, points: Points, *, k: int, merging: bool
) -> tuple[NDArray[np.int64] | None, str]:
    """Return the stratum of each record, small ones merged if the recipe says so, and what was merged in words."""
    strata = strata_of(table)
    if strata is None or not merging:
        refuse_small(table, strata, k)
        return strata, ""
    merged = merge_small(points, strata, k, points.subjects)
    return merged, merged_note(strata, merged, k)


def _released(
    release: Any,
    table: Table,
    typed: Table,
    points: Points,
    partition: Partition,
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> tuple[Release, pa.Table]:
    """Release the classes, from cells as they are written or from values; and what leaves, as values to be measured."""
    if as_written(release):
        released: Release = _without_unused(release.release(table, points, partition, weights, rng))
        left = with_origins(released, typed.data)
    else:
        released = _without_unused(release.release(typed, points, partition, weights, rng))
        _refuse_codes(released)
        left = released.data
    subject = next(iter(table.schema.names(Role.SUBJECT)), None)
    return replace(released, subjects=named(table.data, subject)), left


def _without_unused(release: Release) -> Release:
    """Return a release whose quasi-identifiers have no categories that none of its records has."""
    names = release.schema.names(Role.QUASI)
    fresh = {name: without_unused(release.data.column(name)) for name in names}
    return replace(release, data=with_columns(release.data, fresh))


def _refuse_infeasible(table: Table, recipe: Recipe, required: list[Required]) -> None:
    """Refuse what cannot hold even if all records, or all of a stratum, are one class."""
    from shoal.privacy.k_anonymity import KAnonymity

    asked = [one for one in required if one.key != "n_t_closeness"]  # which t implies
    if recipe.counted is not None:
        asked = [Required("k_anonymity", KAnonymity(recipe.k)), *asked]
    if not asked:
        return
    release = Release(table.data, table.schema, table.dialect, named(table.data, recipe.counted))
    release = with_values(release, recipe.confidential)
    refuse_infeasible(release, recipe.strata, asked, recipe.confidential)


def _refuse_codes(release: Release) -> None:
    """Refuse values of classes that the file of the table would take for missing ones, which they are not."""
    from shoal.schema.user_missing import without_user_missing

    faults = []
    for name in release.schema.names(Role.QUASI):
        column = release.data.column(name)
        lost = without_user_missing(release.data.schema.field(name), column).null_count - column.null_count
        if lost:
            faults.append(
                f"Column {name!r}: the value of a class must be none that its file declares to be missing, those of "
                f"{lost:,} of {len(column):,} records are. Choose another k or method, or other codes."
            )
    raise_all(DataError, faults)


def _noted(block: Block, points: Points) -> Block:
    """Say how many values leave unchanged, where a method makes them itself."""
    if block.values is None:
        return block
    before = points.only(block.attributes).coordinates
    largest = float(abs(before).max())
    same = int((abs(block.values / 2 - before / 2) <= 1e-12 * largest).sum())  # but for rounding; halves: no overflow
    said = f"{same:,} of {block.values.size:,} values leave unchanged"
    return replace(block, note=f"{block.note}; {said}" if block.note else said)


def promises_k(method: Any) -> bool:
    """Tell whether a method promises classes of at least k records; one that does not must say so."""
    return bool(getattr(type(method), "promises_k", True))


def enough_records(method: Any, n: int) -> None:
    """Refuse a k that no class of n records can have. Where k is not about records, the method must look itself."""
    if promises_k(method) and n < method.k:
        raise DataError(
            f"{type(method).__name__}: k must be at most the number of records, got k = {method.k:,} and {n:,} in the "
            f"table. Lower k."
        )


def _components(recipe: Recipe, encoding: type, sink: type | None) -> tuple[Any, Any, Any]:
    """Make method, release and encoding; each parameter of `set` belongs to those that declare it."""
    classes = (registry.load("partition", recipe.method), registry.load("release", recipe.release), encoding)
    levels = _levels_for(classes[0], recipe)
    known = {d.name for cls in (*classes, sink) if cls for d in declarations(cls)} - {"k", "t", *levels}
    raise_all(
        ParameterError,
        [unknown("Recipe", "parameter (in set)", n, known) for n in recipe.set if n not in known],
    )
    if recipe.t is None and promises_t(classes[0]) and not _optional(classes[0], "t"):
        raise ParameterError(
            f"{classes[0].__name__}: t must be given, got none. Say how close classes must be: t = 0.2."
        )
    given = {**recipe.set, "k": recipe.k, **({} if recipe.t is None else {"t": recipe.t}), **levels}
    made = [build(c, {d.name: given[d.name] for d in declarations(c) if d.name in given}) for c in classes]
    return made[0], made[1], made[2]


def _levels_for(method: type, recipe: Recipe) -> dict[str, float]:
    """Return the levels of the models that a method promises itself: they are required in the recipe."""
    levels: dict[str, float] = {}
    for key in getattr(method, "promises", ()):
        asked = [one for one in resolve("Recipe", recipe.require) if one.key == key]
        if len(asked) != 1:
            model = registry.load("privacy", key)
            raise ParameterError(
                f"{method.__name__}: {key} must be required once, at one level, got {len(asked) or 'none'}. Say for "
                f"example --require {model.short}={model.example}."
            )
        levels |= dict(asked[0].levels)
    return levels


def _optional(cls: type, name: str) -> bool:
    return any(f.name == name and f.default is not MISSING for f in fields(cls))


def encode(table: Table, names: Sequence[str], *, missing: str = "refuse") -> tuple[Table, list[Attribute]]:
    """Return the table with cells of these columns as values, and the attributes; raises all faults at once.

    `missing` says what a missing value is: ``category``, ``fill``, or ``refuse``.
    """
    import pyarrow as pa

    from shoal.points.encoding import attribute_of
    from shoal.schema.cells import is_text, moment_sign, without_nan
    from shoal.schema.order import in_order
    from shoal.schema.user_missing import without_user_missing

    faults: list[str] = []
    attributes: list[Attribute] = []
    typed = {}
    moment = "T"
    encoders = registry.claims("points", "kinds")
    for name in names:
        meant, given = table.schema[name], table.data.column(name)
        kind = meant.kind
        try:
            _refuse_commas(meant, table)
            column = without_user_missing(table.data.schema.field(name), given)
            if column is not given:
                typed[name] = column
            if is_text(column):
                moment = moment_sign(column) if kind is Kind.DATETIME else moment
                column = typed[name] = as_values(name, table, exact=True)
            if missing != "refuse":
                column = typed[name] = without_nan(column)
            attributes.append(attribute_of(meant, in_order(meant, column), encoders[kind], missing, given.type))
        except (DataError, SchemaError) as error:
            faults.append(str(error))
        except pa.ArrowException:  # whose message may hold a value
            faults.append(f"Column {name!r}: {column.type} cannot be {kind.value}. Give it another kind or role.")
    raise_all(DataError, faults)
    dialect_out = replace(table.dialect, moment=moment) if table.dialect is not None else None
    return replace(table, data=with_columns(table.data, typed), dialect=dialect_out), attributes


def numbers_in(table: Table, name: str, what: str) -> NDArray[np.float64]:
    """Return the values of a column of numbers or moments."""
    (attribute,) = encode(table, [name])[1]
    if not isinstance(attribute, Numbers):
        raise SchemaError(f"Column {name!r}: {what} must be of numbers or moments. Name another column.")
    return attribute.values


def _refuse_commas(column: Column, table: Table) -> None:
    """Refuse numbers that would pass for categories, because nobody said that they have a decimal comma."""
    from shoal.schema.cells import has_decimal_comma, is_text

    cells = table.data.column(column.name)
    if column.kind is not Kind.NOMINAL or column.taxonomy is not None or not is_text(cells) or table.dialect is None:
        return
    if has_decimal_comma(cells, table.dialect):
        raise DataError(
            f"Column {column.name!r}: its cells look like numbers with a decimal comma, and would be categories. Give "
            f"--decimal , then."
        )


def _weights(table: Table) -> NDArray[np.float64] | None:
    """Return the sampling weight of each record, relative to the largest."""
    import numpy as np

    names = table.schema.names(Role.WEIGHT)
    if not names:
        return None
    if table.schema[names[0]].kind not in (Kind.CONTINUOUS, Kind.INTEGER):
        raise SchemaError(f"Column {names[0]!r}: a weight must be a number, this one is {table.schema[names[0]].kind}.")
    weights = numbers_in(table, names[0], "a weight")
    negative = (weights < 0).nonzero()[0].tolist()
    if negative:
        raise DataError(f"Column {names[0]!r}: weights must be ≥ 0, but not in {data_rows(negative)}. Correct them.")
    if not weights.any():
        raise DataError(f"Column {names[0]!r}: some weight must be > 0, all are 0. Name the right column.")
    return np.asarray(weights / weights.max())  # only ratios matter, and sums must not overflow
