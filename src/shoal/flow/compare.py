"""Compare a masked table with its original, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal.errors import DataError, raise_all
from shoal.flow.anonymising import encode
from shoal.flow.excluding import complete_rows, only_rows
from shoal.flow.measuring import measure
from shoal.flow.reading import open_source, schema_for, schema_of_columns, text_for
from shoal.places import Place
from shoal.recipe import Recipe
from shoal.types import Dialect, Kind, Readings, Schema, Table

if TYPE_CHECKING:
    import pyarrow as pa


def compare_frames(original: Any, masked: Any, columns: Sequence[str], recipe: Recipe | None = None) -> Readings:
    """Measure what a masked frame lost, row by row."""
    from shoal.sources.frame import Frame

    before, after = (Frame().read(frame)[0] for frame in (original, masked))
    return _compare((before, None), (after, None), columns, recipe)


def compare_files(
    original: Place, masked: Place, columns: Sequence[str], text: Mapping[str, Any], recipe: Recipe | None = None
) -> Readings:
    """Measure what a masked file lost, row by row."""
    before, after = (open_source(place, text_for(place, text, recipe)).read(place.at) for place in (original, masked))
    return _compare(before, after, columns, recipe)


def _compare(
    original: tuple[pa.Table, Dialect | None],
    masked: tuple[pa.Table, Dialect | None],
    columns: Sequence[str],
    recipe: Recipe | None,
) -> Readings:
    """Measure some columns, or the quasi-identifiers of a recipe, which also says what they mean.

    Of the masked table only kinds and orders matter: in place of categories it may have groups of them.
    """
    names = columns or (recipe.quasi if recipe is not None else ())
    before = _table(original, names, recipe)
    if recipe is not None and recipe.when_missing == "exclude":
        rows = complete_rows(replace(before, schema=schema_for(original[0], recipe, original[1])), recipe)
        before = only_rows(before, rows)
    after = _table(masked, names, recipe)
    if len(before) != len(after):
        raise DataError(
            f"Compare: both tables must have the same rows in the same order, got {len(before):,} and "
            f"{len(after):,}. Give the file that was masked and its masked version."
        )
    missing = "fill" if recipe is not None and recipe.when_missing == "fill" else "category"
    whole, attributes = encode(before, names, missing=missing)
    meant = {c.name: replace(c, kind=_relaxed(c.kind), taxonomy=None) for c in before.schema.columns}
    schema = Schema(tuple(meant[c.name] if c.name in names else c for c in after.schema.columns))
    typed, _ = encode(replace(after, schema=schema), names, missing="category")
    _refuse_lost(names, whole.data, typed.data)
    return measure(attributes, typed.data)


def _table(read: tuple[pa.Table, Dialect | None], names: Sequence[str], recipe: Recipe | None) -> Table:
    return Table(read[0], schema_of_columns(read[0], names, read[1], recipe), read[1])


def _refuse_lost(names: Sequence[str], original: pa.Table, masked: pa.Table) -> None:
    """Refuse columns whose values are missing in the masked table only: how far off they are, nobody can say."""
    lost = {n: masked.column(n).null_count for n in names if not original.column(n).null_count}
    faults = (
        f"Column {name!r}: values that were there must not be missing, {count:,} of {masked.num_rows:,} are in the "
        f"masked table. Compare other columns."
        for name, count in lost.items()
        if count
    )
    raise_all(DataError, list(faults))


def _relaxed(kind: Kind) -> Kind:
    """Return the kind to read masked cells by: a mean of integers has decimals."""
    return Kind.CONTINUOUS if kind is Kind.INTEGER else kind
