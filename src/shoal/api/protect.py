"""Protection of a frame or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from shoal.api._given import AnyRecipe, input_place, is_place, recipe_of, refuse_with_frame
from shoal.api._stores import reads
from shoal.errors import ParameterError
from shoal.flow.protect import protect as flow
from shoal.flow.protect.files import SideFiles
from shoal.flow.protect.holdout import refuse_holdout
from shoal.flow.protect.protected import Protected
from shoal.locations import path_or_none, place
from shoal.recipe.recipe import Changes, Recipe


@reads("frame", "population")
def protect(
    frame: Any,
    recipe: AnyRecipe | None = None,
    *,
    output: str | Path | None = None,
    force: bool = False,
    save_recipe: str | Path | None = None,
    certify: bool = False,
    report: str | Path | None = None,
    edition: str = "internal",
    evidence: str | Path | None = None,
    keep_metadata: bool = False,
    receipt: str | Path | None = None,
    repeat: str | Path | None = None,
    holdout: float | None = None,
    holdout_to: str | Path | None = None,
    engine: str | None = None,
    memory: str | int | None = None,
    spark_master: str | None = None,
    population: Any = None,
    **fields: Unpack[Changes],
) -> Protected:
    """Protect a table and audit the result before anyone sees it.

    Parameters
    ----------
    frame
        A frame of pandas, polars or pyarrow, the path of a file of any known format, or the URL of a table, such as
        ``sqlite:///people.db?table=survey``. It is not changed.
    recipe
        What to do: a recipe, a mapping with its fields, or the path of a TOML file.
    output
        Where the protected file goes, a path or a URL. It must be given for a file and left out for a frame.
    force
        Replace the output if it exists.
    save_recipe
        Where to write the recipe as well, a TOML file.
    certify
        Also compute a lower bound on the SSE of any partition; may take minutes.
    report, edition
        Where to write a report for people, one HTML file; the ``internal`` edition, or the ``external`` one, which
        omits what would help an attacker.
    evidence
        Where to write evidence for :func:`shoal.verify`, a JSON file.
    keep_metadata
        Keep metadata that came with the input: of pyarrow tables, Parquet and Arrow files, ``attrs`` of pandas, labels
        and notes of SPSS and Stata files. It may list categories, columns and people that the table no longer holds;
        ``notes`` says so.
    receipt
        Where to write a receipt for yourself, a JSON file of mode 0600: it opens the commitment to the input in the
        evidence, and holds the random choices.
    repeat
        The receipt of an earlier run on the same table: its swap key and its order of rows are used again.
    holdout, holdout_to
        The share of people to draw at random and leave out of the release, as a control for :func:`shoal.compare`;
        whole subjects or households if they are declared, else records. Of a file: where to write their original
        values, a CSV or Parquet file of mode 0600, to be kept private. Of a frame: the result has them as ``holdout``.
    engine, memory
        Of a file: ``memory`` or ``disk``, and the memory to use at most, such as ``"2GB"``. By default a Parquet or
        text file that would need more than that, or more than is available, and every folder of such files, is
        protected on disk; ``data`` is then a pyarrow dataset of the output. ``spark`` protects a Parquet folder or a
        catalog table (``table:NAME``) on a cluster; see :func:`shoal.spark.protect` for DataFrames.
    spark_master
        Address of the cluster, such as ``local[4]`` or ``spark://host:7077``; by default as Spark is configured.
    population
        The people that the table was drawn from, everyone in it included: a frame, or the path or URL of a table. The
        audit counts how many of them belong to each released combination, as ``k_map`` and ``delta``; both can be
        required, and are audited, not enforced.
    **fields
        Fields of the recipe by name, such as ``quasi=["age"], k=5``: instead of a recipe, or to override it.

    Returns
    -------
    Protected
        ``data`` (the same kind of frame, or a pyarrow table for a file; same row order unless the recipe says
        ``shuffle``), ``partition``, ``audit``, ``readings``, ``recipe``, ``schema``, ``certificate``, ``notes``,
        ``rows`` (for each released row its row in the input; None: the same), and with noise ``ledger``. Pickling
        drops everything that was computed record by record.

    Raises
    ------
    GuaranteeError
        If the independent audit of the release does not find what the recipe promises. Nothing is written then: the
        output, the report, the recipe, the evidence and the receipt appear together, or none of them does.

    >>> import pyarrow as pa
    >>> done = protect(pa.table({"age": [31, 33, 62, 60]}), quasi=["age"], k=2)
    >>> done.data.to_pydict()
    {'age': [32, 32, 61, 61]}
    """
    made = recipe_of(recipe, fields, protect)
    people = place(population) if is_place(population) else population
    if not is_place(frame):
        refuse_with_frame(
            "protect",
            "The result holds the protected frame as data, and writes a report, evidence and a receipt.",
            output=output,
            force=force,
            save_recipe=save_recipe,
            report=report,
            edition=edition != "internal",
            evidence=evidence,
            receipt=receipt,
            holdout_to=holdout_to,
            engine=engine,
            memory=memory,
            spark_master=spark_master,
        )
        return flow.protect_frame(
            frame,
            made,
            certify=certify,
            keep_metadata=keep_metadata,
            repeat=path_or_none(repeat),
            population=people,
            holdout=holdout,
        )
    if output is None:
        raise ParameterError(
            'protect: output must be given for a file, got nothing. Name the protected file: output="safe.csv".'
        )
    refuse_half_a_holdout(holdout, holdout_to)
    side_files = SideFiles(
        path_or_none(save_recipe),
        path_or_none(report),
        edition,
        path_or_none(evidence),
        path_or_none(receipt),
        path_or_none(holdout_to),
    )
    if engine == "spark":
        if memory is not None:
            raise ParameterError(
                "protect: memory must be left out with engine = spark, whose workers have what the cluster gives them. "
                "Leave it out."
            )
        refuse_holdout(holdout, made, engine)
        _refuse_on_spark(
            made,
            certify=certify,
            repeat=path_or_none(repeat),
            keep_metadata=keep_metadata,
            population=population is not None,
        )
        return _on_spark(frame, output, made, side_files, spark_master, force=force)
    if spark_master is not None:
        raise ParameterError("protect: spark_master must be given with engine = spark only. Add --engine spark.")
    return flow.protect_file(
        input_place(frame),
        place(output),
        made,
        force=force,
        side_files=side_files,
        certify=certify,
        keep_metadata=keep_metadata,
        repeat=path_or_none(repeat),
        engine=engine,
        memory=memory,
        population=people,
        holdout=holdout,
    )


def refuse_half_a_holdout(holdout: float | None, holdout_to: str | Path | None) -> None:
    """Refuse a holdout of a file without a place for it, and a place without a holdout."""
    if (holdout is None) != (holdout_to is None):
        given, lacking = ("holdout", "holdout_to") if holdout_to is None else ("holdout_to", "holdout")
        raise ParameterError(
            f"protect: holdout and holdout_to must be given together, got only {given}. Add {lacking}, e.g. "
            "--holdout 0.1 --holdout-to control.csv."
        )


def _refuse_on_spark(
    recipe: Recipe, *, certify: bool, repeat: Path | None, keep_metadata: bool, population: bool
) -> None:
    """Refuse what cannot be done on a cluster, before one is started."""
    from shoal.flow.engines.blockwise.plan import refuse_population
    from shoal.flow.engines.spark.plan import SPARK, refuse_on_spark

    refuse_population(SPARK, given=population)
    refuse_on_spark(recipe, certify=certify, repeat=repeat, keep_metadata=keep_metadata)


def _on_spark(
    source: Any, target: Any, recipe: Recipe, side_files: SideFiles, master: str | None, *, force: bool
) -> Protected:
    """Protect a folder or a table of a cluster."""
    from shoal.flow.engines.spark.session import check_installed

    check_installed()
    from shoal.flow.protect.cluster import protect_tables_on_spark

    return protect_tables_on_spark(str(source), str(target), recipe, master=master, force=force, side_files=side_files)


def protect_file(
    source: str | Path,
    target: str | Path,
    recipe: AnyRecipe,
    *,
    force: bool = False,
    save_recipe: str | Path | None = None,
    certify: bool = False,
    report: str | Path | None = None,
    edition: str = "internal",
    evidence: str | Path | None = None,
    keep_metadata: bool = False,
    receipt: str | Path | None = None,
    repeat: str | Path | None = None,
) -> Protected:
    """Protect a file: the older name of :func:`protect` with a path and an output."""
    return protect(
        place(source),
        recipe,
        output=target,
        force=force,
        save_recipe=save_recipe,
        certify=certify,
        report=report,
        edition=edition,
        evidence=evidence,
        keep_metadata=keep_metadata,
        receipt=receipt,
        repeat=repeat,
    )
