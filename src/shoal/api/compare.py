"""Comparison of a masked table with its original: loss and disclosure risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.api._given import AnyRecipe, is_place, recipe_of, refuse_with_frame, table_of
from shoal.api._stores import reads
from shoal.errors import ParameterError
from shoal.flow import compare as flow
from shoal.flow.stages.read import listed
from shoal.locations import path_or_none, place
from shoal.types import Readings


@reads("original", "masked", "control")
def compare(
    original: Any,
    masked: Any,
    columns: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    recipe: AnyRecipe | None = None,
    *,
    confidential: Sequence[str] = (),
    strata: Sequence[str] = (),
    key: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int = 0,
    measures: Sequence[str] = (),
    receipt: str | Path | None = None,
    control: Any = None,
    synthetic: bool = False,
    text: Mapping[str, Any] | None = None,
    memory: str | int | None = None,
) -> Readings:
    """Measure the loss of a masked table and the gain of an attacker, record by record.

    Parameters
    ----------
    original, masked
        Two frames of pandas, polars or pyarrow, or the paths or URLs of two tables; a path may be that of a folder of
        files with equal columns. Both have the same rows in the same
        order, unless there is a key or a receipt.
    columns
        The columns to compare, of any kind. Default: the quasi-identifiers of the recipe.
    kinds, taxonomies, orders
        Where the inferred kinds are wrong, or categories have groups or an order; as in a recipe.
    recipe
        The recipe of the masked table: it declares columns and the treatment of missing values.
    confidential, strata
        Confidential columns, for measures of inference; columns within which to look at changes.
    key
        A column that identifies records in both tables, where rows are in another order or some were not released.
    set
        Parameters of measures, such as ``{"formula": "income ~ age", "subsets": 100}``.
    seed
        Random seed, for measures that look at a sample.
    measures
        Only these, and those that they are computed from; see ``shoal list measures``. Default: all.
    receipt
        The receipt of the run that protected the table: lines rows up again if they were shuffled or excluded.
    control
        People of the same population who are not in the masked table, a frame or a path like the other two. The
        measures ``inference``, ``linkability``, ``singling_out`` and ``membership`` then report the excess of attacks
        on members over attacks on the control, with a 95 % interval.
    synthetic
        The rows of the masked table correspond to no original row, as in synthetic data. Measures that compare rows
        have no reading then.
    text
        Format of text files, with the names of ``[text]`` in a recipe.
    memory
        Memory to use at most, such as ``"2GB"``. Parquet and CSV files that need more are read in batches, and a sample
        of whole classes is measured; ``sample`` of the result states it. SSE and IL are
        those of all records in any case.

    A missing value is a value, 1 away from the others. So is a category that the original does not have, unless it is a
    group of its taxonomy, or ``*``, the group of all.

    >>> import pyarrow as pa
    >>> before, after = (pa.table({"sex": list(sex)}) for sex in ("fmff", "ffxf"))
    >>> round(compare(before, after, ["sex"])["sse"], 6)
    2.0
    """
    text = table_of("compare", "text", text)
    said = flow.Compared(
        columns,
        table_of("compare", "kinds", kinds),
        table_of("compare", "taxonomies", taxonomies),
        table_of("compare", "orders", orders),
        listed("confidential", confidential),
        listed("strata", strata),
        key,
        table_of("compare", "set", set),
        seed,
        measures,
        synthetic=synthetic,
    )
    said = said.with_receipt(path_or_none(receipt))
    asked = flow.Compared.of(None if recipe is None else recipe_of(recipe, {}, compare), said)
    given = [original, masked] if control is None else [original, masked, control]
    if all(map(is_place, given)):
        outside = None if control is None else place(control)
        return flow.compare_files(place(original), place(masked), asked, text, memory, outside)
    if any(map(is_place, given)):
        got = ["a path" if is_place(one) else f"a {type(one).__name__}" for one in given]
        names = "original and masked must be two" if control is None else "original, masked and control must be three"
        raise ParameterError(
            f"compare: {names} frames or {'two' if control is None else 'three'} paths, got {' and '.join(got)}. "
            "Read the file into a frame first."
        )
    refuse_with_frame("compare", "Only text files have a text format.", text=text or None)
    refuse_with_frame("compare", "Frames are in memory already.", memory=memory)
    return flow.compare_frames(original, masked, asked, control)


def compare_files(
    original: str | Path,
    masked: str | Path,
    columns: Sequence[str] = (),
    text: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    orders: Mapping[str, Sequence[str]] | None = None,
    recipe: AnyRecipe | None = None,
    *,
    confidential: Sequence[str] = (),
    strata: Sequence[str] = (),
    key: str | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int = 0,
    measures: Sequence[str] = (),
    receipt: str | Path | None = None,
) -> Readings:
    """Compare two files: the older name of :func:`compare` with two paths."""
    return compare(
        place(original),
        place(masked),
        columns,
        kinds,
        taxonomies,
        orders,
        recipe,
        confidential=confidential,
        strata=strata,
        key=key,
        set=set,
        seed=seed,
        measures=measures,
        receipt=receipt,
        text=text,
    )
