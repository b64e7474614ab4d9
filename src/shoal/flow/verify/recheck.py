"""Fresh audit of an output by its recipe's promises, compared with the claims of its evidence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal import registry
from shoal.errors import DataError, ParameterError, ShoalError, listing
from shoal.flow.evidence.build import histogram, names_hidden
from shoal.flow.evidence.column_semantics import Left, as_left, taken_on_trust
from shoal.flow.evidence.receipt import Digest, Receipt, of_path, of_table
from shoal.flow.stages.batches import Batches, can_be_batched, files_of, joined, open_files
from shoal.flow.stages.parts import InParts, Wanted, fits
from shoal.flow.stages.read import open_source
from shoal.flow.verify.claims import claims_of, look_again, look_at_persons, same
from shoal.flow.verify.parts import Claimed, left_in_parts
from shoal.flow.verify.requirements import (
    all_claimed,
    guarantee_of,
    in_two_tables,
    is_installed,
    met,
    promised_k,
    promises_in,
    without_promise,
    withstands,
)
from shoal.io.manifest import MANIFEST, changed_files
from shoal.io.sources._file import read_bytes
from shoal.locations import Place, beside
from shoal.memory import ceiling
from shoal.parameters import build
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, resolve
from shoal.recipe.settings import digest
from shoal.report.evidence import Evidence, finite
from shoal.types import Audit, Check, Dialect, Finding, Verdict, Verification


@dataclass(frozen=True, eq=False)
class RemoteTable:
    """A table that stays where it is, such as on a cluster, and is audited there in parts."""

    name: str
    arrow: pa.Schema = field(repr=False)
    records: int
    parts: Callable[[Wanted], InParts] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Seen:
    """A table as a verifier finds it: its name, its cells, and its location unless in memory."""

    name: str
    data: pa.Table = field(repr=False)
    dialect: Dialect | None = None
    place: Place | None = None
    files: Batches | None = None  #: of a table that is too large to be held in memory: `data` has no rows
    remote: RemoteTable | None = None  #: a table elsewhere: `data` has no rows

    @property
    def records(self) -> int:
        """Number of records."""
        if self.remote is not None:
            return self.remote.records
        return self.data.num_rows if self.files is None else self.files.count_records()

    def digest(self, of: str) -> Digest:
        """Return the digest of its bytes or content; a table without bytes always has a content digest."""
        if of == "bytes" and self.place is not None and isinstance(self.place.at, Path):
            return of_path(self.place.at)
        return of_table(self.data)


def read_evidence(path: Path) -> Evidence:
    """Read evidence from its file."""
    try:
        text = read_bytes(path).decode("utf-8")
        found = Evidence.read(path.name, text)
        bytes.fromhex(found["salt"])
    except ValueError:
        raise DataError(f"{path.name}: must be JSON in UTF-8, but it is not. Give the file of --evidence.") from None
    return found


def outputs_of(said: Evidence, given: Any, memory: int) -> list[Seen]:
    """Read the tables of an evidence: one, or two with the second next to the first."""
    ends = said["outputs"]
    if not 1 <= len(ends) <= 2:
        raise DataError(f"Evidence: there must be one output or two, got {len(ends)}. Give the file as it was written.")
    if isinstance(given, RemoteTable) and len(ends) == 1:
        return [Seen(given.name, given.arrow.empty_table(), remote=given)]
    if isinstance(given, Place) and len(ends) == 1 and isinstance(given.at, Path):
        return [files_seen(said, given, given.at, memory)]
    if isinstance(given, Place):
        return [read_seen(said, place) for place in (given, *([beside(given)] if len(ends) == 2 else []))]
    frames = given if isinstance(given, (list, tuple)) else [given]
    if len(frames) != len(ends):
        raise ParameterError(
            f"verify: {len(ends)} tables were released, got {len(frames)}. Give all of them, in a list."
        )
    return [frame_seen(frame, "frame") for frame in frames]


def files_seen(said: Evidence, place: Place, at: Path, memory: int) -> Seen:
    """Read a file, or a folder of files; what does not fit into memory is only opened."""
    paths = files_of(at)
    if not can_be_batched(Place(paths[0])) or fits(paths, memory):
        seen = [read_seen(said, replace(place, at=path)) for path in paths]
        return replace(seen[0], name=place.name, data=joined(paths, [one.data for one in seen]), place=place)
    if place.options:
        raise ParameterError(f"{place.name}: {listing(list(place.options))} cannot be set here. Leave it out.")
    textual = registry.for_place("io.sources", paths[0]).textual
    files = open_files(paths, _exact(said["text"] or {}) if textual else {})
    return Seen(place.name, files.arrow.empty_table(), files.dialect, place, files)


def read_seen(said: Evidence | None, place: Place) -> Seen:
    """Read a place; a text file is parsed as the evidence says."""
    source, text = registry.for_place("io.sources", place.at), None if said is None else said["text"]
    if text is not None and source.textual:
        if place.options:
            raise ParameterError(
                f"{place.name}: the evidence has the text format, so {listing(list(place.options))} cannot be set. "
                "Leave it out."
            )
        try:
            reader = build(source, _exact(text))
        except ParameterError:
            raise DataError("Evidence: text must describe the format of a text file, but does not.") from None
    else:
        reader = open_source(place, _exact({}) if source.textual and said is not None else {})
    data, dialect = reader.read(place.at)
    return Seen(place.name, data, dialect, place)


def _exact(text: Mapping[str, Any]) -> dict[str, Any]:
    """Return the text format of a released file, whose names of columns are read as written."""
    return {**text, "trim": False}


def frame_seen(frame: Any, name: str) -> Seen:
    """Return a frame as a verifier finds it."""
    from shoal.io.sources.frame import Frame

    return Seen(name, Frame().read(frame)[0])


_K, _RANDOM = "k_anonymity", "probabilistic_k_anonymity"
#: Models about what the output does not show, and what is lacking.
_NOT_IN_THE_OUTPUT = {
    "differential_privacy": "noise cannot be seen in the output; the ledger is the publisher's statement",
    _RANDOM: "the output does not show which records formed a class",
    "k_map": "the population file would be needed",
    "delta_presence": "the population file would be needed",
    "exchangeability": "the input would be needed to repeat the run on exchanged inputs",
}


def audited(
    said: Evidence, recipe: Recipe, tables: Sequence[Seen], required: Sequence[Required] = (), memory: int = sys.maxsize
) -> Iterator[Check]:
    """Audit the tables afresh by the recipe's promises, and compare with claims and requirements."""
    claims, link = claims_of(said), said["link"]
    lefts = [_left(said, table, [one for one in claims if _is_shown(one)], recipe.quasi, memory) for table in tables]
    if (link is not None, len(tables) == 2) != (in_two_tables(recipe),) * 2:
        yield Check(
            "The tables are those of the release", Verdict.FAILS, "the recipe releases another number of tables"
        )
        return
    yield _columns(said, recipe, tables)
    yield from _meanings(said, lefts)
    yield all_claimed(recipe, claims, link)
    yield from without_promise(recipe, claims, link)
    seen = [(claim, _look(claim, lefts, recipe, link)) for claim in claims]
    yield from (check for claim, check in seen if claim.required is not None or not claim.promised)
    yield from _informative([check for claim, check in seen if claim.required is None and claim.promised])
    yield _summary(said, recipe, claims)
    yield _sizes(said, recipe, lefts[0], link)
    yield from withstands(said["audit"].get("attacker"), recipe, claims)
    yield from met(required, recipe, seen, link)


def _left(said: Evidence, table: Seen, claims: Sequence[Finding], quasi: Sequence[str], memory: int) -> Left:
    """Return a table as an auditor parses it, or the claims recomputed where it is."""
    if table.remote is not None:
        claimed = Claimed(said, table.remote.arrow, None, tuple(claims), tuple(quasi))
        return claimed.left(table.remote.parts(claimed.wanted()))
    if table.files is not None:
        return left_in_parts(said, table.files, claims, quasi, memory)
    return as_left(said, table.data, table.dialect)


def _is_shown(claim: Finding) -> bool:
    """Tell whether a claim is about what the output shows."""
    return claim.model not in _NOT_IN_THE_OUTPUT


def _look(claim: Finding, lefts: Sequence[Left], recipe: Recipe, link: str | None) -> Check:
    """Check one claim in its table."""
    if claim.model in _NOT_IN_THE_OUTPUT:
        verdict = Verdict.UNSEEN if claim.holds else Verdict.FAILS
        return Check(claim.subject, verdict, _NOT_IN_THE_OUTPUT[claim.model])
    if claim.model == "anatomy_k":
        return _two_tables(claim, lefts, recipe)
    in_subjects = recipe.counted is not None and claim.model == _K and recipe.pseudonym is None
    about = lefts[1] if link is not None and claim.attributes == (link,) else lefts[0]
    if recipe.pseudonym is not None:
        if recipe.pseudonym not in about.release.data.column_names:
            return Check(claim.subject, Verdict.FAILS, f"the output lacks {listing([recipe.pseudonym])}")
        people = about.release.data.column(recipe.pseudonym)
        about = replace(about, release=replace(about.release, subjects=people, subject_exact=True))
    if claim.model == "dominance" and guarantee_of(recipe) == _RANDOM:
        verdict = Verdict.UNSEEN if claim.holds else Verdict.FAILS
        return Check(claim.subject, verdict, "cannot be checked from the output, which does not show the classes")
    if claim.model == "dominance" and (hidden := _hidden(recipe)):
        return look_at_persons(claim, about, hidden)
    return look_again(claim, about, in_subjects=in_subjects)


def _hidden(recipe: Recipe) -> str:
    """Return the unreleased data that people's shares depend on; empty if the shares can be counted."""
    weights = recipe.weight is not None and recipe.release_weight != "record"
    found = {"subjects": recipe.counted is not None and recipe.pseudonym is None, "original weights": weights}
    return listing([name for name, hidden in found.items() if hidden])


def _two_tables(claim: Finding, lefts: Sequence[Left], recipe: Recipe) -> Check:
    """Check that two tables match: as many confidential rows as records per class. Their links stay hidden."""
    if len(claim.attributes) != 1:
        return Check(claim.subject, Verdict.FAILS, "two tables are joined by one column, but the evidence lists others")
    if any(claim.attributes[0] not in left.release.data.column_names for left in lefts):
        return Check(claim.subject, Verdict.FAILS, f"the output lacks {listing(claim.attributes)}")
    numbers = [_counted(left, claim.attributes[0]) for left in lefts]
    least = min((count for one in numbers for count in one.values()), default=0)
    if numbers[0] != numbers[1] or None in numbers[0]:
        why = "a class has more or fewer confidential rows than records"
        return Check(claim.subject, Verdict.FAILS, why)
    exact = recipe.counted is None
    if least < claim.achieved or least < recipe.k or not claim.holds or (exact and claim.classes != len(numbers[0])):
        why = f"the smallest class has {least:,} records, among {len(numbers[0]):,} classes: the evidence differs"
        return Check(claim.subject, Verdict.FAILS, why)
    why = f"every class has {least:,} confidential rows or more; that they are those of its records cannot be seen"
    return Check(claim.subject, Verdict.UNSEEN, why)


def _counted(left: Left, name: str) -> dict[Any, int]:
    counts = left.release.data.column(name).value_counts()
    return {str(one["values"]) if one["values"].is_valid else None: one["counts"].as_py() for one in counts}


def _informative(checks: Sequence[Check]) -> Iterator[Check]:
    """Combine all levels that are only reported into one check."""
    said, failed = "Levels that are only reported", [check for check in checks if check.verdict is Verdict.FAILS]
    yield from (check for check in checks if check.verdict is Verdict.UNSEEN)
    if failed:
        names = listing([check.claim for check in failed], most=2)
        why = f"{len(failed):,} of {len(checks):,} differ from the output: {names}"
        yield Check(said, Verdict.FAILS, why)
    elif seen := [check for check in checks if check.verdict is Verdict.HOLDS]:
        yield Check(said, Verdict.HOLDS, f"all {len(seen):,} agree with the output")


def _columns(said: Evidence, recipe: Recipe, tables: Sequence[Seen]) -> Check:
    claim, names = "No column released that must not be", [list(table.data.column_names) for table in tables]
    there = [name for one in names for name in one]
    if stray := [n for n in recipe.removed if n in there]:
        return Check(claim, Verdict.FAILS, f"identifiers are in the output: {listing(stray)}")
    if list(dict.fromkeys(there)) != list(said["columns"]):
        return Check(claim, Verdict.FAILS, "the columns of the output are not those of the evidence")
    roles = {name: role.value for name, role in recipe.roles.items()}
    if any(roles.get(n, "other") != said["columns"][n]["role"] for n in there if n != said["link"]):
        return Check(claim, Verdict.FAILS, "columns have other roles in the evidence than in the recipe")
    if shared := [name for name in names[0] if name in recipe.confidential and len(names) == 2]:
        return Check(claim, Verdict.FAILS, f"confidential columns are in the first table: {listing(shared)}")
    if joined := [name for one in names[1:] for name in one if name in names[0] and name != said["link"]]:
        return Check(claim, Verdict.FAILS, f"columns are in both tables, which they join: {listing(joined)}")
    why = f"{len(set(there)):,} columns; none is an identifier of the recipe"
    return Check(claim, Verdict.HOLDS, why)


def _meanings(said: Evidence, lefts: Sequence[Left]) -> Iterator[Check]:
    """Report what the audit takes from the evidence: closeness depends on it, and cells do not show it."""
    taken = [one for left in lefts for one in taken_on_trust(said, left)]
    if taken:
        yield Check("Meaning of cells", Verdict.UNSEEN, f"as the publisher states: {listing(taken)}")


def _summary(said: Evidence, recipe: Recipe, claims: Sequence[Finding]) -> Check:
    """Compare the evidence's summary of the audit with its findings."""
    claim = "The summary of the audit matches its findings"
    overall = [f for f in claims if f.model == _K and f.attributes == recipe.quasi]
    if not overall:
        return Check(claim, Verdict.FAILS, "no finding is over all quasi-identifiers")
    audit = Audit(said["records"], recipe.quasi, recipe.confidential, overall[0], tuple(claims), said["link"])
    rest = {name: value for name, value in said["audit"].items() if name != "attacker"}
    if not same(finite(audit.to_dict()), rest):
        return Check(claim, Verdict.FAILS, "they differ")
    return Check(claim, Verdict.HOLDS, f"k = {overall[0].achieved:g} in {overall[0].classes:,} classes")


def _sizes(said: Evidence, recipe: Recipe, left: Left, link: str | None) -> Check:
    over = recipe.quasi if link is None else (link,)
    claim, table = f"Class sizes over {listing(over)}", left.release
    if lacking := [name for name in over if name not in table.data.column_names]:
        return Check(claim, Verdict.FAILS, f"the output lacks {listing(lacking)}")
    try:
        found = histogram(table, over) if left.in_parts is None else left.in_parts.sizes
    except ShoalError as error:
        return Check(claim, Verdict.FAILS, str(error))
    if {"over": list(over), "sizes": found} != said["class_sizes"]:
        return Check(claim, Verdict.FAILS, "the evidence and the output differ")
    return Check(claim, Verdict.HOLDS, f"from {found[0][0]:,} to {found[-1][0]:,} records")


def verify(
    evidence: Path,
    output: Any,
    source: Any = None,
    receipt: Path | None = None,
    *,
    require: Mapping[str, Any] | None = None,
    strict: bool = False,
    memory: str | int | None = None,
) -> Verification:
    """Check an output against its evidence; with the receipt of the run, the input as well.

    Output and input are places or frames; two released tables are given as two frames, or as the place of the first.
    Requirements must be promised and confirmed. With `strict`, every statement on the output's protection must be
    verified. An output that needs more `memory` than this, or than is available, is audited in parts on disk.

    Raises
    ------
    DataError
        If evidence, output, input or receipt cannot be read. False claims raise nothing.
    ParameterError
        If there is an input without a receipt, or a requirement names an unknown model or level.
    """
    required = resolve("verify", require or {})
    if source is not None and receipt is None:
        raise ParameterError(
            "verify: an input must be given with the receipt of the run, got none: without it nothing in the evidence "
            "can be compared with an input. Give --receipt R.json as well, or leave out --input."
        )
    said = read_evidence(evidence)
    kept = None if receipt is None else Receipt.read(receipt)
    limit = ceiling(memory)
    tables = outputs_of(said, output, limit)
    checks = [_sealed(said), *_same_outputs(said, tables), *_listed(tables)]
    recipe, about = _recipe(said)
    checks.append(about)
    claims = claims_of(said)
    if recipe is not None:
        checks += audited(said, recipe, tables, required, limit)
    checks += [_input(said, source, kept), _unseen()]
    k = None if recipe is None else promised_k(recipe, claims)
    return Verification(tables[0].name, tuple(checks), said["audit"], promises_in(claims), k, strict)


def _sealed(said: Evidence) -> Check:
    claim = "The evidence is unchanged"
    if said.sealed:
        return Check(claim, Verdict.HOLDS, "its seal matches; a forger can make a new seal unless the file is signed")
    return Check(claim, Verdict.FAILS, "it was changed: its seal does not match")


def _same_outputs(said: Evidence, tables: Sequence[Seen]) -> Iterator[Check]:
    """Compare each table with its digest."""
    for end, table in zip(said["outputs"], tables, strict=True):
        claim = f"{table.name} is the released file"
        if table.remote is not None:
            yield Check(claim, Verdict.UNSEEN, "it has no bytes to compare here; give its folder to compare them")
            continue
        found = table.digest(end["of"])
        if end["of"] != found.of:
            why = f"the evidence is about {end['of']} and there is only {found.of}"
            yield Check(claim, Verdict.FAILS, f"it is another file: {why}")
        elif found.hex != end["sha256"] or found.size != end["bytes"]:
            yield Check(claim, Verdict.FAILS, "it is another file: its SHA-256 is not that of the evidence")
        elif table.records != end["records"] or said["records"] != said["outputs"][0]["records"]:
            yield Check(claim, Verdict.FAILS, f"it has {table.records:,} records, the evidence another number")
        else:
            size = f"{found.size:,} bytes" if found.size is not None else "its content, rows in any order"
            yield Check(claim, Verdict.HOLDS, f"SHA-256 of {size}; {table.records:,} records")


def _listed(tables: Sequence[Seen]) -> Iterator[Check]:
    """Compare the files of a folder with the digests of its manifest."""
    for table in tables:
        folder = None if table.place is None else table.place.at
        changed = changed_files(folder) if isinstance(folder, Path) else None
        if changed is not None:
            claim = f"The files of {table.name} match its {MANIFEST}"
            if changed:
                yield Check(claim, Verdict.FAILS, f"some have another SHA-256: {listing(changed, most=5)}")
            else:
                yield Check(claim, Verdict.HOLDS, "the SHA-256 of each file is that of the manifest")


def _recipe(said: Evidence) -> tuple[Recipe | None, Check]:
    """Return an evidence's recipe without category names, and whether its fingerprint matches."""
    claim, given = "The recipe matches its fingerprint", said["recipe"]
    plain = {name: value for name, value in given.items() if name not in ("orders", "taxonomies", "text")}
    try:
        recipe = _made(plain)
    except (ShoalError, TypeError, ValueError, AttributeError):
        return None, Check(claim, Verdict.FAILS, "it is not a valid recipe, so nothing can be audited by it")
    if names_hidden(given):
        why = "names of categories are digests in it; the holder of the recipe can compare"
        return recipe, Check(claim, Verdict.UNSEEN, why)
    whole = _made(given)
    old = digest(given)  # as it was written, with the names of its time
    if said["fingerprint"] not in (whole.fingerprint, old) or whole.seed != said["seed"]:
        return recipe, Check(claim, Verdict.FAILS, "it is another recipe than the one that was run, or another seed")
    return recipe, Check(claim, Verdict.HOLDS, f"{said['fingerprint'][:16]}…, with seed {whole.seed}")


def _made(values: Mapping[str, Any]) -> Recipe:
    """Make a recipe from plain values; its method may be one of a package that is not installed here."""
    method = values.get("method", "mdav")
    if not isinstance(method, str) or is_installed(method):
        return Recipe.from_dict(values)
    recipe = Recipe.from_dict({**values, "method": "mdav"})
    object.__setattr__(recipe, "method", method)
    return recipe


def _input(said: Evidence, source: Any, receipt: Receipt | None) -> Check:
    """Open the commitment to the input by the receipt."""
    claim, made = "The input is the one that was protected", said["commitment"]
    if made is None:
        verdict = Verdict.UNSEEN if receipt is None else Verdict.FAILS
        return Check(
            claim, verdict, "the evidence commits to no input: it was written without a receipt", essential=False
        )
    if receipt is None:
        return Check(claim, Verdict.UNSEEN, "the holder of the input and the receipt can check it", essential=False)
    if made != {"of": receipt.commitment.of, "sha256": receipt.commitment.sha256}:
        return Check(claim, Verdict.FAILS, "the receipt is of another run: its commitment is not that of the evidence")
    if source is None:
        return Check(claim, Verdict.UNSEEN, "the receipt is of this run; the input was not given", essential=False)
    if not receipt.commitment.opens(_digest_of(source)):
        return Check(claim, Verdict.FAILS, "it is another input: the commitment of the evidence does not match it")
    return Check(claim, Verdict.HOLDS, "the receipt opens the commitment of the evidence to it")


def _digest_of(source: Any) -> Digest:
    """Return the digest of an input: of a file's bytes, or of a table's content."""
    if isinstance(source, Place) and isinstance(source.at, Path):
        return of_path(source.at)
    seen = read_seen(None, source) if isinstance(source, Place) else frame_seen(source, "input")
    return of_table(seen.data)


def _unseen() -> Check:
    return Check(
        "Measures, versions and settings",
        Verdict.UNSEEN,
        "the input would be needed: the measures are the publisher's statement",
        essential=False,
    )
