"""Input of a run: the table to protect, read from a file or a frame."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.flow.plan.declared_output import covers_originals, declared_table
from shoal.flow.plan.release_traits import refuse_noise
from shoal.flow.stages.read import is_textual, open_source, read_table, schema_for
from shoal.locations import Place
from shoal.parameters import build
from shoal.recipe.recipe import Recipe
from shoal.types import Table

if TYPE_CHECKING:
    import pyarrow as pa


def read_file(place: Place, recipe: Recipe, *, textual: bool) -> Table:
    """Read the table to protect, for a text or other output; as the recipe declares it if the claim needs that.

    In that case a text output follows the recipe, whatever the input looks like.
    """
    from shoal.io.sources.csv import Csv

    if not covers_originals(recipe):
        return read_table(place, recipe, textual=textual)
    refuse_noise(recipe, registry.load("partition", recipe.method))
    settings = recipe.text if is_textual(place) or not textual else {}
    data, dialect = open_source(place, settings).read(place.at, names=recipe.quasi)
    table = declared_table(data, recipe, dialect)
    return replace(table, dialect=build(Csv, recipe.text).dialect()) if textual else table


def read_frame(frame: Any, recipe: Recipe) -> tuple[Table, pa.Table]:
    """Return a frame as a table (as declared, if the claim needs that), and its columns in Arrow."""
    import narwhals as nw

    from shoal.io.sources.frame import Frame

    if not covers_originals(recipe):
        data, unread = Frame().read(frame)
        return Table(data, schema_for(data, recipe, None, unread)), data
    refuse_noise(recipe, registry.load("partition", recipe.method))
    data, unread = Frame().read(frame)
    native: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    return declared_table(data, recipe, None, {name: native[name].to_list() for name in unread}), data
