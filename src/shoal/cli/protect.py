"""``shoal protect``: protect a file, and prove it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import _options as o
from shoal.cli._tables import (
    print_audit,
    print_certificate,
    print_json,
    print_ledger,
    print_published,
    print_schema,
    print_unchanged,
    progress_bar,
    summary_of,
)

if TYPE_CHECKING:
    from shoal import Protected, Recipe


def protect(
    source: Annotated[str, typer.Argument(metavar="IN", help="The file to protect, or the URL of a table.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where the protected file goes, or URL.")
    ],
    quasi: o.Quasi = None,
    confidential: o.Confidential = None,
    identifier: o.Identifier = None,
    subject: o.Subject = None,
    subject_exact: o.SubjectExact = False,
    together: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Such as the household: its records stay together, and k counts them."),
    ] = None,
    household_level: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="With --together: quasi-identifiers of the household; others go by record."),
    ] = None,
    weight: o.Weight = None,
    strata: o.Strata = None,
    small_strata: Annotated[
        str | None,
        typer.Option(help="Strata of fewer than k: refuse, or merge them with the nearest.", show_default="refuse"),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", help="Smallest number of records in a class.", show_default="5")
    ] = None,
    t: Annotated[
        float | None, typer.Option("--t", help="How far a class may be from the table in confidential values: 0 to 1.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="With --t: promise (n,t)-closeness only, to n records around a class.")
    ] = None,
    require: Annotated[
        str | None,
        typer.Option(metavar="MODEL=LEVEL,…", help="What else must hold, e.g. l_entropy=3,alpha=0.5,e:pay=900."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="See shoal list methods.", show_default="mdav; with --t or --require auto")
    ] = None,
    refine: Annotated[
        str | None, typer.Option(metavar="EFFORT", help="Lower the loss afterwards: fast, default or best.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method or release.")
    ] = None,
    release: o.Release = None,
    kind: o.Kinds = None,
    order: o.Orders = None,
    taxonomy: o.Taxonomies = None,
    when_missing: o.WhenMissing = None,
    attribute_weight: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=NUMBER", help="How much distances in a quasi-identifier count."),
    ] = None,
    block: Annotated[
        list[str] | None, typer.Option(metavar="A,B,…", help="Quasi-identifiers to partition on their own.")
    ] = None,
    steer: Annotated[
        list[str] | None,
        typer.Option(metavar="BY:NAME=VALUE,…", help="An artificial attribute that steers; see shoal list steerings."),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help="With --release laplace: the privacy budget, or A=NUMBER,… for each column."
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(metavar="A=LOW:HIGH,…", help="With --release laplace: the ends of each column's domain."),
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option(
            help="With --release laplace: what epsilon is for, microaggregated or original.",
            show_default="microaggregated",
        ),
    ] = None,
    release_weight: o.ReleaseWeight = None,
    resolution: o.Resolution = None,
    exact_means: Annotated[
        bool, typer.Option("--exact-means", help="Release means with all digits; they give away class totals.")
    ] = False,
    row_order: o.RowOrder = None,
    reviewed: o.Reviewed = None,
    seed: o.Seed = None,
    recipe: Annotated[Path | None, typer.Option(metavar="R.toml", help="Take all of this from a file.")] = None,
    save_recipe: Annotated[Path | None, typer.Option(metavar="R.toml", help="Write all of this to a file.")] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="R.html", help="Write a report that people read, one HTML file.")
    ] = None,
    edition: Annotated[
        str, typer.Option(help="Of the report: internal, or external, without what would help an intruder.")
    ] = "internal",
    evidence: Annotated[
        Path | None, typer.Option(metavar="E.json", help="Write evidence that shoal verify can check.")
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option(metavar="R.json", help="Write a receipt for yourself: never publish it.")
    ] = None,
    repeat: Annotated[
        Path | None, typer.Option(metavar="R.json", help="Repeat the random choices of an earlier run by its receipt.")
    ] = None,
    certify: Annotated[
        bool, typer.Option("--certify", help="Say how much lower the loss of any partition could be; takes longer.")
    ] = False,
    keep_metadata: Annotated[
        bool, typer.Option("--keep-metadata", help="Keep the input's labels, notes and metadata; read them first.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")] = False,
    delimiter: o.Delimiter = None,
    quote: o.Quote = None,
    encoding: o.Encoding = None,
    decimal: o.Decimal = None,
    missing: o.Missing = None,
    datetime: o.Datetime = None,
    json: o.Json = False,
) -> None:
    """Protect a file: partition it into classes of at least k, release each class as one value, audit the result.

    Nothing is written unless the audit finds what was promised.
    """
    given: dict[str, Any] = {
        "quasi": o.names(quasi),
        "confidential": o.names(confidential),
        "identifier": o.names(identifier),
        "strata": o.names(strata),
        "small_strata": small_strata,
        "subject": subject,
        "subject_exact": subject_exact or None,
        "together": together,
        "household_level": o.names(household_level),
        "weight": weight,
        "k": k,
        "t": t,
        "n": n,
        "require": o.requirements(require),
        "method": method,
        "release": release,
        "refine": refine,
        "set": o.pairs("--set", set_),
        "kinds": o.pairs("--kind", kind, last=True),
        "orders": o.orders(order),
        "taxonomies": o.pairs("--taxonomy", taxonomy),
        "when_missing": when_missing,
        "attribute_weights": o.typed_settings(o.pairs("--attribute-weight", attribute_weight, last=True)),
        "blocks": [o.names(names) for names in block or ()],
        "steer": o.steerings(steer),
        "seed": seed,
        "epsilon": o.budget(epsilon),
        "bounds": o.bounds(bounds),
        "claim": claim,
        "release_weight": release_weight,
        "resolution": o.resolution(resolution),
        "exact_means": exact_means or None,
        "row_order": row_order,
        "reviewed": o.names(reviewed),
        "text": o.text_format(
            delimiter=delimiter, quote=quote, encoding=encoding, decimal=decimal, missing=missing, datetime=datetime
        ),
    }
    made = o.recipe_from(recipe, given)
    import shoal
    from shoal.locations import place

    shown = str(place(output))  # without a password
    with progress_bar(quiet=json):
        done = shoal.protect_file(
            source,
            output,
            made,
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
    with summary_of(shown):
        if json:
            print_json(_as_json(shown, made, done))
            return
        print_schema(done.schema, done.partition, made.release, made.release_weight)
        print_audit(done.audit)
        print_unchanged(done.audit.unchanged, done.schema)
        if done.ledger is not None:
            print_ledger(done.ledger)
        if done.partition.note:
            typer.echo(f"{done.partition.note}.")
        if not _covers_originals(done):  # readings depend on the data, and ε does not cover them
            print_published(done.published)
        if done.certificate is not None:
            print_certificate(done.certificate)
        for note in done.notes:
            typer.echo(note)
        for warning in done.audit.warnings:
            typer.echo(f"Warning: {warning}")
        if done.left_out:
            typer.echo(f"{done.left_out:,} records lack a quasi-identifier and were left out.")
        if done.beside:
            typer.echo("Nothing is lost in the quasi-identifiers, which leave as they were.")
        elif not done.published.readings:
            typer.echo(f"The loss by release = {made.release} tells of the originals: shoal compare measures it.")
        typer.echo(f"{done.audit.records:,} records protected: {shown}{f' and {done.beside}' if done.beside else ''}")


def _covers_originals(done: Protected) -> bool:
    return done.ledger is not None and done.ledger.claim == "original"


def _as_json(output: str, recipe: Recipe, done: Protected) -> dict[str, Any]:
    certificate = {} if done.certificate is None else {"certificate": done.certificate.published}
    return {
        "output": output,
        **({"confidential": done.beside} if done.beside else {}),
        "recipe": recipe.to_dict(),
        "fingerprint": recipe.fingerprint,
        "columns": {c.name: {"role": c.role, "kind": c.kind} for c in done.schema.columns},
        "audit": done.audit.to_dict(),
        **({} if done.audit.unchanged is None else {"unchanged": done.audit.unchanged.to_dict()}),
        **({"warnings": list(done.audit.warnings)} if done.audit.warnings else {}),
        **({} if _covers_originals(done) else {"readings": done.published.to_dict()}),
        **({} if done.ledger is None else {"ledger": done.ledger.to_dict()}),
        **({"left_out": done.left_out} if done.left_out else {}),
        **({"note": done.partition.note} if done.partition.note else {}),
        **({"notes": list(done.notes)} if done.notes else {}),
        **certificate,
        **({"notes": list(done.notes)} if done.notes else {}),
    }
