"""Evidence and output → Verification. Nothing that makes a release is used here: only files, models and the recipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError
from shoal.flow.digests import of_file, of_table
from shoal.flow.evidence import names_hidden
from shoal.flow.promises import guarantee_of
from shoal.flow.reaudit import audited
from shoal.flow.seen import Seen, frame_seen, outputs_of, read_evidence, read_seen
from shoal.places import Place
from shoal.recipe import Recipe
from shoal.report.evidence import Evidence
from shoal.types import Check, Verdict, Verification

_RANDOM = "probabilistic_k_anonymity"  # only then is the seed left out


def verify(evidence: Path, output: Any, source: Any = None) -> Verification:
    """Look at an output with the eyes of somebody who has only its evidence, and the input if there is one.

    Output and input are places, or frames; where two tables left, two frames, or the place of the first.

    Raises
    ------
    DataError
        If evidence, output or input cannot be read. What can be read and is not true raises nothing.
    """
    said = read_evidence(evidence)
    tables = outputs_of(said, output)
    checks = [_sealed(said), *_same_outputs(said, tables)]
    recipe, about = _recipe(said)
    checks.append(about)
    if recipe is not None:
        checks += audited(said, recipe, tables)
    checks += [_input(said, source), _unseen(said)]
    return Verification(tables[0].name, tuple(checks), said["audit"])


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
    if said["fingerprint"] is None or names_hidden(given):
        gone = "its seed is left out" if said["fingerprint"] is None else "names of categories are digests in it"
        if said["fingerprint"] is None and guarantee_of(recipe) != _RANDOM:
            return recipe, Check(claim, Verdict.FAILS, "there is none")
        return recipe, Check(claim, Verdict.UNSEEN, f"{gone}; who has the recipe can compare")
    whole = Recipe.from_dict(given)
    if whole.fingerprint != said["fingerprint"] or whole.seed != said["seed"]:
        return recipe, Check(claim, Verdict.FAILS, "it is another recipe than the one that was run, or another seed")
    return recipe, Check(claim, Verdict.HOLDS, f"{said['fingerprint'][:16]}…, with seed {whole.seed}")


def _input(said: Evidence, source: Any) -> Check:
    claim, end = "The input is the one that was protected", said["input"]
    if source is None:
        return Check(claim, Verdict.UNSEEN, "it was not given; who has it can give it with --input")
    is_file = isinstance(source, Place) and isinstance(source.at, Path)
    if end["of"] == "bytes" and not is_file:
        return Check(claim, Verdict.FAILS, "it was a file, and what was given is none")
    key = bytes.fromhex(said["salt"])
    if end["of"] == "bytes":
        found = of_file(source.at, key)
    else:
        seen = read_seen(None, source) if isinstance(source, Place) else frame_seen(source, "input")
        found = of_table(seen.data, key)
    if found.hex != end["hmac_sha256"] or found.size != end["bytes"]:
        return Check(claim, Verdict.FAILS, "it is another one: its HMAC is not that of the evidence")
    return Check(claim, Verdict.HOLDS, "HMAC-SHA256 with the salt of the evidence")


def _unseen(said: Evidence) -> Check:
    left_out = f", and that {said['left_out']:,} records were left out" if said["left_out"] else ""
    return Check(
        "Measures, versions, and how it was made",
        Verdict.UNSEEN,
        f"the input would be needed: the measures{left_out} are what the maker says",
    )
