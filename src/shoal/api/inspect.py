"""First look at a frame or a file that has no recipe yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api._given import input_place, is_place, refuse_with_frame, table_of
from shoal.api._stores import reads
from shoal.flow.inspect import inspect as flow
from shoal.locations import path_or_none, place
from shoal.types import Inspection


@reads("frame")
def inspect(
    frame: Any,
    reviewed: Sequence[str] = (),
    *,
    text: Mapping[str, Any] | None = None,
    recipe: str | Path | None = None,
    force: bool = False,
) -> Inspection:
    """Guess the role of each column, and count the records that columns make unique.

    Parameters
    ----------
    frame
        A frame of pandas, polars or pyarrow, the path of a file, or the URL of a table.
    reviewed
        Columns released unchanged that you have reviewed, as in a recipe.
    text
        Format of a text file, with the names of ``[text]`` in a recipe.
    recipe
        For a file: where to write the starter recipe, whole or not at all.
    force
        Replace the recipe if it exists.

    Returns
    -------
    Inspection
        ``columns`` (a guess each, with the reason), ``together``, ``combinations``, ``unchanged``, and ``recipe``, a
        starter recipe as TOML.

    >>> import pyarrow as pa
    >>> seen = inspect(pa.table({"age": [40, 40, 50, 61], "sex": list("fmff"), "illness": list("abab")}))
    >>> [guess.role.value for guess in seen.columns], seen.together.unique
    (['quasi', 'quasi', 'confidential'], 4)
    """
    text = table_of("inspect", "text", text)
    if is_place(frame):
        source = input_place(frame)
        return flow.inspect_file(source, text, recipe=path_or_none(recipe), force=force, reviewed=reviewed)
    refuse_with_frame(
        "inspect", "The result holds the starter recipe as recipe.", text=text or None, recipe=recipe, force=force
    )
    return flow.inspect_frame(frame, reviewed)


def inspect_file(
    path: str | Path,
    text: Mapping[str, Any] | None = None,
    *,
    recipe: str | Path | None = None,
    force: bool = False,
    reviewed: Sequence[str] = (),
) -> Inspection:
    """Look at a file: the older name of :func:`inspect` with a path."""
    return inspect(place(path), reviewed, text=text, recipe=recipe, force=force)
