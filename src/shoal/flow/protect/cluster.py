"""`protect` on a cluster, for a DataFrame or for tables that Spark reads and writes."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ParameterError
from shoal.flow.engines.spark.plan import refuse_on_spark
from shoal.flow.engines.spark.protect import SparkRun, protect_on_spark
from shoal.flow.engines.spark.publish import CatalogTable, Folder, InScratch, Output, StoreFolder
from shoal.flow.engines.spark.scratch import FolderScratch, Scratch, TableScratch, for_spark, local_path
from shoal.flow.engines.spark.session import session, spark_errors
from shoal.flow.evidence.build import Proof
from shoal.flow.protect.files import NOTHING, SideFiles
from shoal.flow.protect.protect import dataset_of, write_about_sample
from shoal.flow.protect.protected import Protected
from shoal.locations import Place
from shoal.recipe.recipe import Recipe
from shoal.scratch import new_mark, scratch_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TABLE = re.compile(r"[^\s/\\:]+(\.[^\s/\\:]+)*")
PREFIX = "table:"  #: of the name of a catalog table on the command line


def protect_frame_on_spark(
    frame: DataFrame,
    recipe: Recipe,
    scratch: str | Path,
    *,
    output: str | Path | None = None,
    form: str = "parquet",
    force: bool = False,
    side_files: SideFiles = NOTHING,
    folder: Path | None = None,
) -> Protected:
    """Protect a DataFrame; the audited output and all side files appear together, or none of them."""
    into = _output(output, scratch, form, force=force)
    _refuse_side_files(side_files, into)
    refuse_on_spark(recipe)
    with ExitStack() as stack:
        stack.enter_context(spark_errors())
        if into.reads_from(frame):
            raise ParameterError(f"{into.name}: the output must not be the input. Give the output another name.")
        papers = stack.enter_context(side_files.staged(force=force))
        rows = _scratch(frame.sparkSession, scratch, form, stack)

        def finish(done: SparkRun) -> None:
            run, records = done.run, done.run.audit.records
            write_about_sample(side_files, papers, recipe, run)
            if side_files.evidence is not None:
                assert done.staged.folder is not None  # others are refused
                proof = Proof.of_path(
                    run.release, into.name, done.staged.folder, _no_receipt, records, done.class_sizes
                )
                side_files.write_proof(papers, run, proof)

        done = protect_on_spark(frame, recipe, into, rows, folder=folder, finish=finish)
    return Protected(done.data, recipe, done.run)


def protect_tables_on_spark(
    source: str,
    target: str,
    recipe: Recipe,
    *,
    master: str | None = None,
    force: bool = False,
    side_files: SideFiles = NOTHING,
) -> Protected:
    """Protect a Parquet folder or a catalog table by a Spark session of this process, or a new one."""
    with session(master) as spark, ExitStack() as stack:
        with spark_errors():
            frame = spark.table(source.removeprefix(PREFIX)) if source.startswith(PREFIX) else _parquet(spark, source)
        path = None if target.startswith(PREFIX) else local_path(target)
        folder = stack.enter_context(scratch_folder(path))
        done = protect_frame_on_spark(
            frame,
            recipe,
            folder,
            output=target.removeprefix(PREFIX) if target.startswith(PREFIX) else f"{target.rstrip('/')}/",
            force=force,
            side_files=side_files,
            folder=None if source.startswith(PREFIX) else local_path(source),
        )
    return done if path is None else replace(done, data=dataset_of(Place(path), None))  # the session may have ended


def _parquet(spark: SparkSession, source: str) -> DataFrame:
    path = local_path(source)
    if path is not None and not path.exists():
        raise ParameterError(f"{source}: there is no such file or folder. Check the name; a table is {PREFIX}NAME.")
    return spark.read.parquet(for_spark(source))


def _output(output: str | Path | None, scratch: str | Path, form: str, *, force: bool) -> Output:
    """Return the output: a folder, a catalog table, a folder of an object store, or none of its own."""
    if output is None:
        folder = None if _is_table(scratch) else local_path(str(scratch))
        return InScratch() if folder is None else Folder(folder / f"release-{new_mark()}")
    place = str(output)
    if _is_table(output):
        return CatalogTable(place, form, force)
    if form != "parquet":
        raise ParameterError(
            f"protect: format must be parquet for a folder, got {form!r}. Name a table as output, or leave out format."
        )
    path = local_path(place)
    return StoreFolder(place, force) if path is None else Folder(path, force)


def _is_table(place: str | Path) -> bool:
    """Tell whether a place is the name of a table: a text without slash, colon or blank."""
    return isinstance(place, str) and _TABLE.fullmatch(place) is not None


def _scratch(spark: SparkSession, place: str | Path, form: str, stack: ExitStack) -> Scratch:
    """Return the scratch; if this run is killed, the next one removes a folder that it can reach."""
    if _is_table(place):
        return TableScratch(spark, str(place), form)
    folder = local_path(str(place))
    if folder is None:
        return FolderScratch(spark, str(place))
    folder.mkdir(parents=True, exist_ok=True)
    return FolderScratch(spark, stack.enter_context(scratch_folder(inside=folder)))


def _refuse_side_files(side_files: SideFiles, output: Output) -> None:
    """Refuse side files that cannot be written on a cluster."""
    if side_files.receipt is not None:
        raise ParameterError(
            "Spark engine: a receipt is not supported, because rows have no order in Spark. Leave it out."
        )
    if side_files.evidence is not None and not isinstance(output, Folder):
        raise ParameterError(
            "Spark engine: evidence needs an output folder that this process can read. Write to such a folder, or "
            "leave it out."
        )


def _no_receipt() -> Any:
    raise AssertionError("a receipt is refused")
