"""Protection and audit of Spark DataFrames, on the cluster that holds them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from shoal.api._given import AnyRecipe, recipe_of
from shoal.flow.engines.spark.session import check_installed
from shoal.flow.protect.files import SideFiles
from shoal.flow.protect.protect import Protected
from shoal.locations import path_or_none
from shoal.recipe.recipe import Changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def protect(
    frame: DataFrame,
    recipe: AnyRecipe | None = None,
    *,
    scratch: str | Path,
    output: str | Path | None = None,
    format: str = "parquet",
    force: bool = False,
    steady: bool = False,
    save_recipe: str | Path | None = None,
    report: str | Path | None = None,
    edition: str = "internal",
    evidence: str | Path | None = None,
    **fields: Unpack[Changes],
) -> Protected:
    """Protect a Spark DataFrame on its own cluster; audit the result as it was written before it is visible.

    The classes are those of the disk engine. Rows have no order in Spark, and the released ones have none either.

    Parameters
    ----------
    frame
        A DataFrame of Spark 4.0 or newer, also of Spark Connect. Its own session is used.
    recipe
        What to do: a recipe, a mapping with its fields, or the path of a TOML file.
    scratch
        Where rows are written between passes: a folder that driver and executors see under the same path, a folder of
        an object store, or the name of a catalog table, to which a suffix is added. Scratch holds original values, and
        is emptied afterwards.
    output
        A folder, or the name of a catalog table. Without it, the audited release stays in scratch.
    format
        Format of catalog tables, such as ``delta`` or ``iceberg``.
    force
        Replace the output if it exists.
    steady
        Say that the DataFrame has the same rows whenever it is read, as files have. Otherwise it is written to scratch
        first, so that no pass sees other rows.
    save_recipe, report, edition, evidence
        Files that this process writes; as in :func:`shoal.protect`. Evidence needs an output folder.
    **fields
        Fields of the recipe by name, such as ``quasi=["age"], k=5``: instead of a recipe, or to override it.

    Returns
    -------
    Protected
        ``data`` is a DataFrame that reads the output. ``audit`` and the losses are those of all records; ``partition``
        and ``comparison`` are those of a sample of whole classes.

    Raises
    ------
    GuaranteeError
        If the audit of the written rows does not find what the recipe promises. Nothing is published then.
    EngineError
        If Spark fails.
    """
    check_installed()
    from shoal.flow.protect.cluster import protect_frame_on_spark

    made = recipe_of(recipe, fields, protect)
    side_files = SideFiles(path_or_none(save_recipe), path_or_none(report), edition, path_or_none(evidence))
    return protect_frame_on_spark(
        frame, made, scratch, output=output, form=format, force=force, steady=steady, side_files=side_files
    )
