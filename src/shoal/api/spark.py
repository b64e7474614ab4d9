"""Protection, audit, verification and attacks of Spark DataFrames, on the cluster that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from shoal.api._given import AnyRecipe, recipe_of
from shoal.flow.engines.spark.session import check_installed
from shoal.flow.protect.files import SideFiles
from shoal.flow.protect.protected import Protected
from shoal.locations import path_or_none
from shoal.recipe.recipe import Changes
from shoal.types import Attempts, Audit, Verification

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
    save_recipe: str | Path | None = None,
    report: str | Path | None = None,
    edition: str = "internal",
    evidence: str | Path | None = None,
    **fields: Unpack[Changes],
) -> Protected:
    """Protect a Spark DataFrame on its own cluster; audit the result as it was written before it is visible.

    The classes are those of the disk engine. Rows have no order in Spark, and neither do the released ones.

    Parameters
    ----------
    frame
        A DataFrame of Spark 4.0 or newer, also of Spark Connect. Its own session is used.
    recipe
        What to do: a recipe, a mapping with its fields, or the path of a TOML file.
    scratch
        Where rows are written between passes: a folder that driver and executors see under the same path, a folder of
        an object store, or the name of a catalog table, to which a suffix is added. Scratch holds a copy of the input
        without direct identifiers, and is emptied afterwards.
    output
        A folder, or the name of a catalog table. Without it, the audited release stays in scratch.
    format
        Format of catalog tables, such as ``delta`` or ``iceberg``.
    force
        Replace the output if it exists.
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
    return protect_frame_on_spark(frame, made, scratch, output=output, form=format, force=force, side_files=side_files)


def audit(
    frame: DataFrame,
    quasi: Sequence[str],
    confidential: Sequence[str] = (),
    subject: str | None = None,
    require: Mapping[str, Any] | None = None,
    kinds: Mapping[str, str] | None = None,
    taxonomies: Mapping[str, Mapping[str, Any] | str] | None = None,
    weight: str | None = None,
    *,
    subject_exact: bool = False,
) -> Audit:
    """Audit a DataFrame from any source by a group-by over all its rows.

    Parameters
    ----------
    frame
        A DataFrame, such as ``spark.read.parquet(folder)`` or ``spark.table(name)``.
    quasi, confidential, subject, require, kinds, taxonomies, weight, subject_exact
        As in :func:`shoal.audit`. Models that need the whole table at once are refused.
    """
    check_installed()
    from shoal.flow.audit import Asked, audit_in_parts
    from shoal.flow.engines.spark.frames import arrow_schema
    from shoal.flow.engines.spark.parts import parts_of
    from shoal.flow.engines.spark.session import spark_errors

    people: dict[str, Any] = {"subject_exact": subject_exact}
    asked = Asked(quasi, confidential, subject, require or {}, kinds or {}, taxonomies or {}, weight, **people)
    with spark_errors():
        arrow = arrow_schema(frame)
        return audit_in_parts(parts_of(frame, asked.wanted(arrow.names)), arrow, None, asked)


def verify(
    evidence: str | Path,
    frame: DataFrame,
    *,
    require: Mapping[str, Any] | None = None,
    strict: bool = False,
) -> Verification:
    """Check a DataFrame against the evidence of its release: audit it from scratch on its cluster, and compare.

    A DataFrame has no bytes, so that it is the released file cannot be seen; :func:`shoal.verify` compares the bytes of
    a folder. Other parameters are those of :func:`shoal.verify`.
    """
    check_installed()
    from shoal.flow.engines.spark.frames import arrow_schema
    from shoal.flow.engines.spark.parts import parts_of
    from shoal.flow.engines.spark.session import spark_errors
    from shoal.flow.verify.recheck import RemoteTable
    from shoal.flow.verify.recheck import verify as recheck

    with spark_errors():
        table = RemoteTable("DataFrame", arrow_schema(frame), frame.count(), lambda wanted: parts_of(frame, wanted))
        return recheck(Path(evidence), table, require=require, strict=strict)


def attack(
    original: DataFrame, released: DataFrame, recipe: AnyRecipe | None = None, **fields: Unpack[Changes]
) -> Attempts:
    """Run the attacks on a released DataFrame that need no matching of its rows, on a sample of whole classes.

    Parameters
    ----------
    original
        The table that was protected; it tells the kinds of its columns.
    released
        The released table.
    recipe, **fields
        As in :func:`shoal.attack`.
    """
    check_installed()
    from shoal.flow.engines.spark.attack import attack_on_spark
    from shoal.flow.engines.spark.session import spark_errors

    with spark_errors():
        return attack_on_spark(original, released, recipe_of(recipe, fields, attack))
