"""Evidence and output → Verification. Nothing that makes a release is used here: only files, models and the recipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, ShoalError
from shoal.flow.claims import claims_of
from shoal.flow.digests import Digest, of_file, of_table
from shoal.flow.evidence import names_hidden
from shoal.flow.promised import promised_k, promises_in
from shoal.flow.reaudit import audited
from shoal.flow.receipt import Receipt
from shoal.flow.seen import Seen, frame_seen, outputs_of, read_evidence, read_seen
from shoal.places import Place
from shoal.recipe import Recipe
from shoal.report.evidence import Evidence
from shoal.requirements import resolve
from shoal.types import Check, Verdict, Verification


def verify(
    evidence: Path,
    output: Any,
    source: Any = None,
    receipt: Path | None = None,
    *,
    require: Mapping[str, Any] | None = None,
    strict: bool = False,
) -> Verification:
    """Check an output with nothing but its evidence; with the receipt of the run, the input as well.

    Output and input are places, or frames; of two released tables, two frames, or the place of the first. What is
    required must be promised and confirmed. If strict, nothing about the output's protection may be left unverified.

    Raises
    ------
    DataError
        If evidence, output, input or receipt cannot be read. Claims that are not true raise nothing.
    ParameterError
        If there is an input and no receipt, or if a requirement names no model or no level that there is.
    """
    required = resolve("verify", require or {})
    if source is not None and receipt is None:
        raise ParameterError(
            "verify: an input must be given with the receipt of the run, got none: without it nothing in the evidence "
            "can be compared with an input. Give --receipt R.json as well, or leave out --input."
        )
    said = read_evidence(evidence)
    kept = None if receipt is None else Receipt.read(receipt)
    tables = outputs_of(said, output)
    checks = [_sealed(said), *_same_outputs(said, tables)]
    recipe, about = _recipe(said)
    checks.append(about)
    claims = claims_of(said)
    if recipe is not None:
        checks += audited(said, recipe, tables, required)
    checks += [_input(said, source, kept), _unseen()]
    k = None if recipe is None else promised_k(recipe, claims)
    return Verification(tables[0].name, tuple(checks), said["audit"], promises_in(claims), k, strict)


def _sealed(said: Evidence) -> Check:
    claim = "The evidence is as it was written"
    if said.sealed:
        return Check(claim, Verdict.HOLDS, "its seal fits; who wants to deceive can make another, unless it is signed")
    return Check(claim, Verdict.FAILS, "something in it was changed: its seal does not fit")


def _same_outputs(said: Evidence, tables: Sequence[Seen]) -> Iterator[Check]:
    """Compare each table with its digest."""
    for end, table in zip(said["outputs"], tables, strict=True):
        claim = f"{table.name} is what left"
        found = table.digest(end["of"])
        if end["of"] != found.of:
            why = f"the evidence is about {end['of']} and there is only {found.of}"
            yield Check(claim, Verdict.FAILS, f"it is another one: {why}")
        elif found.hex != end["sha256"] or found.size != end["bytes"]:
            yield Check(claim, Verdict.FAILS, "it is another one: its SHA-256 is not that of the evidence")
        elif table.data.num_rows != end["records"] or said["records"] != said["outputs"][0]["records"]:
            yield Check(claim, Verdict.FAILS, f"it has {table.data.num_rows:,} records, the evidence says otherwise")
        else:
            size = f"{found.size:,} bytes" if found.size is not None else "its content, rows in any order"
            yield Check(claim, Verdict.HOLDS, f"SHA-256 of {size}; {table.data.num_rows:,} records")


def _recipe(said: Evidence) -> tuple[Recipe | None, Check]:
    """Return the recipe of an evidence without what names categories, and whether it has its fingerprint."""
    claim, given = "The recipe has its fingerprint", said["recipe"]
    plain = {name: value for name, value in given.items() if name not in ("orders", "taxonomies", "text")}
    try:
        recipe = Recipe.from_dict(plain)
    except (ShoalError, TypeError, ValueError, AttributeError):
        return None, Check(claim, Verdict.FAILS, "it is no recipe, so that nothing can be audited by it")
    if names_hidden(given):
        why = "names of categories are digests in it; who has the recipe can compare"
        return recipe, Check(claim, Verdict.UNSEEN, why)
    whole = Recipe.from_dict(given)
    if whole.fingerprint != said["fingerprint"] or whole.seed != said["seed"]:
        return recipe, Check(claim, Verdict.FAILS, "it is another recipe than the one that was run, or another seed")
    return recipe, Check(claim, Verdict.HOLDS, f"{said['fingerprint'][:16]}…, with seed {whole.seed}")


def _input(said: Evidence, source: Any, receipt: Receipt | None) -> Check:
    """Open the commitment to the input by the receipt."""
    claim, made = "The input is the one that was protected", said["commitment"]
    if made is None:
        verdict = Verdict.UNSEEN if receipt is None else Verdict.FAILS
        return Check(
            claim, verdict, "the evidence commits to no input: it was written without a receipt", essential=False
        )
    if receipt is None:
        return Check(claim, Verdict.UNSEEN, "whoever has the input and the receipt can check it", essential=False)
    if made != {"of": receipt.commitment.of, "sha256": receipt.commitment.sha256}:
        return Check(claim, Verdict.FAILS, "the receipt is of another run: its commitment is not that of the evidence")
    if source is None:
        return Check(claim, Verdict.UNSEEN, "the receipt is of this run; the input was not given", essential=False)
    if not receipt.commitment.opens(_digest_of(source)):
        return Check(claim, Verdict.FAILS, "it is another one: the commitment of the evidence does not open to it")
    return Check(claim, Verdict.HOLDS, "the receipt opens the commitment of the evidence to it")


def _digest_of(source: Any) -> Digest:
    """Return the digest of an input: of a file's bytes, or of a table's content."""
    if isinstance(source, Place) and isinstance(source.at, Path):
        return of_file(source.at)
    seen = read_seen(None, source) if isinstance(source, Place) else frame_seen(source, "input")
    return of_table(seen.data)


def _unseen() -> Check:
    return Check(
        "Measures, versions, and how it was made",
        Verdict.UNSEEN,
        "the input would be needed: the measures are what the maker says",
        essential=False,
    )
