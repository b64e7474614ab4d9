"""``shoal protect``: protection of a file, with proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._echo import echo
from shoal.cli._tables import (
    print_audit,
    print_certificate,
    print_json,
    print_ledger,
    print_losses,
    print_plan,
    print_schema,
    print_unchanged,
    progress_bar,
    summary_of,
)

if TYPE_CHECKING:
    from shoal import Protected, Recipe

SUMMARY = "Protect a file; it is audited before it appears."
EXAMPLE = "shoal protect people.csv -o safe.csv --quasi birth,income --k 5"


@o.settings()
def protect(
    source: Annotated[str, typer.Argument(metavar="IN", help="The file or folder to protect, or the URL of a table.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Output file or folder, or the URL of a table.")
    ],
    recipe: Annotated[
        Path | None, typer.Option(metavar="R.toml", help="Recipe file; options override its fields.")
    ] = None,
    save_recipe: Annotated[
        Path | None, typer.Option(metavar="R.toml", help="Write these settings to a recipe file.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="R.html", help="Write a readable report, one HTML file.")
    ] = None,
    edition: Annotated[
        str,
        typer.Option(metavar="internal|external", help="Edition of the report: internal, or external (publishable)."),
    ] = "internal",
    evidence: Annotated[
        Path | None, typer.Option(metavar="E.json", help="Write evidence that shoal verify can check.")
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option(metavar="R.json", help="Write a private receipt; never publish it.")
    ] = None,
    repeat: Annotated[
        Path | None, typer.Option(metavar="R.json", help="Repeat the random choices of an earlier run by its receipt.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Leave this share of people out as a control, e.g. 0.1.")
    ] = None,
    holdout_to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write their original records here; never publish it.")
    ] = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Report how far the loss is from a lower bound; slower.")
    ] = False,
    keep_metadata: Annotated[
        bool, typer.Option("--keep-metadata", help="Keep the input's labels, notes and metadata; read them first.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan, refusals and an estimate; write nothing.")
    ] = False,
    population: o.PopulationFile = None,
    memory: o.Memory = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="memory|disk|spark", help="Engine: memory, disk, or spark for a cluster.", show_default="by size"
        ),
    ] = None,
    spark_master: Annotated[
        str | None, typer.Option(metavar="URL", help="Cluster of engine spark, e.g. local[4] or spark://host:7077.")
    ] = None,
    threads: o.Threads = None,
    json: o.Json = False,
    **given: Any,
) -> None:
    """Protect a file: partition it into classes of at least k, release each class as one value, audit the result.

    Nothing is written unless the audit finds what was promised.
    """
    made = o.recipe_from(recipe, o.read(given))
    import shoal
    from shoal.locations import place

    shown = str(place(output))  # without a password
    if dry_run:
        with progress_bar(quiet=json):
            planned = shoal.plan(
                source,
                made,
                output,
                certify=certify,
                force=force,
                save_recipe=save_recipe,
                report=report,
                evidence=evidence,
                receipt=receipt,
                holdout=holdout,
                holdout_to=holdout_to,
                engine=engine,
                memory=memory,
                population=population,
            )
        print_json(planned.to_dict()) if json else print_plan(planned, made.notes)
        raise typer.Exit(planned.exit_code)
    with progress_bar(quiet=json):
        done = shoal.protect(
            source,
            made,
            output=output,
            force=force,
            save_recipe=save_recipe,
            certify=certify,
            report=report,
            edition=edition,
            evidence=evidence,
            keep_metadata=keep_metadata,
            receipt=receipt,
            repeat=repeat,
            holdout=holdout,
            holdout_to=holdout_to,
            engine=engine,
            memory=memory,
            spark_master=spark_master,
            population=population,
        )
    with summary_of(shown):
        if json:
            print_json(_as_json(shown, made, done))
            return
        print_schema(done.schema, done.partition, made.release, made.release_weight, made.recode, made.pseudonym)
        print_audit(done.audit)
        print_unchanged(done.audit.unchanged, done.schema)
        if done.ledger is not None:
            print_ledger(done.ledger)
        if done.partition.note:
            echo(f"{done.partition.note}.")
        if not _covers_originals(done):  # readings depend on the data, and ε does not cover them
            print_losses(done.printed)
        if done.certificate is not None:
            print_certificate(done.certificate)
        _print_notes(done, receipt)
        for warning in done.audit.warnings:
            echo(f"Warning: {warning}")
        if done.left_out:
            echo(f"{done.left_out:,} records lack a quasi-identifier and were excluded.")
        if done.suppressed:
            echo(
                f"{done.suppressed:,} records would have cost the most and were suppressed; losses are over the others."
            )
        if done.beside:
            echo("Nothing is lost in the quasi-identifiers, which are released unchanged.")
        elif not done.printed.readings:
            echo(f"The loss of release = {made.release} would reveal the originals: measure it with shoal compare.")
        echo(f"{done.audit.records:,} records protected: {shown}{f' and {done.beside}' if done.beside else ''}")


def _print_notes(done: Protected, receipt: Path | None) -> None:
    for note in done.notes:
        echo(note)
    if done.rows is not None and receipt is None:
        echo("To compare or attack the output later, also write a receipt (--receipt), and keep it private.")


def _covers_originals(done: Protected) -> bool:
    return done.ledger is not None and done.ledger.claim == "original"


def _as_json(output: str, recipe: Recipe, done: Protected) -> dict[str, Any]:
    certificate = {} if done.certificate is None else {"certificate": done.certificate.printed}
    return {
        "output": output,
        **({"confidential": done.beside} if done.beside else {}),
        "recipe": recipe.to_dict(),
        "fingerprint": recipe.fingerprint,
        "columns": {c.name: {"role": c.role, "kind": c.kind} for c in done.schema.columns},
        "audit": done.audit.to_dict(),
        **({} if done.audit.unchanged is None else {"unchanged": done.audit.unchanged.to_dict()}),
        **({"warnings": list(done.audit.warnings)} if done.audit.warnings else {}),
        "sentences": list(done.audit.sentences),
        "impact": done.impact,
        **({} if _covers_originals(done) else {"readings": done.printed.to_dict()}),
        **({} if done.ledger is None else {"ledger": done.ledger.to_dict()}),
        **({"left_out": done.left_out} if done.left_out else {}),
        **({"suppressed": done.suppressed} if done.suppressed else {}),
        **({"note": done.partition.note} if done.partition.note else {}),
        **({"notes": list(done.notes)} if done.notes else {}),
        **certificate,
    }
