"""Account → Evidence: what a run promised and found, with digests in place of everything that is a value."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.flow.digests import Digest, of_file, of_name, of_table
from shoal.flow.meaning import columns_of
from shoal.places import Place
from shoal.report.evidence import FORMAT, Evidence, digest_of
from shoal.types import Account, Audit, Dialect, Finding, Release

if TYPE_CHECKING:
    import pyarrow as pa

_HIDDEN = "hmac-sha256:"
_RANDOM = "probabilistic_k_anonymity"  # what is promised rests on the seed


@dataclass(frozen=True, eq=False)
class Proof:
    """What evidence is made of besides an account: what leaves as it was read back, and what both ends are.

    `source` is the input's digest with the salt as key; `outputs` are what the tables that leave are called, one or
    two, and their digests.
    """

    leaving: Release = field(repr=False)
    source: Digest
    outputs: tuple[tuple[str, Digest], ...]
    salt: bytes = field(repr=False)

    @classmethod
    def of_frame(cls, leaving: Release, data: pa.Table) -> Proof:
        """Return the proof of a frame: what it holds counts, not how."""
        salt = new_salt()
        ends = tuple(zip(("", "confidential"), (of_table(one.data) for one in tables_of(leaving)), strict=False))
        return cls(leaving, of_table(data, salt), ends, salt)

    @classmethod
    def of_files(cls, leaving: Release, source: Place, data: pa.Table, ends: Sequence[tuple[str, Any]]) -> Proof:
        """Return the proof of what is staged: the bytes of files as they will be, of databases what they hold."""
        salt = new_salt()
        tables = tables_of(leaving)
        outputs = tuple((name, _digest(at, table.data)) for (name, at), table in zip(ends, tables, strict=True))
        return cls(leaving, _digest(source.at, data, salt), outputs, salt)


def _digest(at: Any, data: pa.Table, key: bytes | None = None) -> Digest:
    return of_file(at, key) if isinstance(at, Path) else of_table(data, key)


def new_salt() -> bytes:
    """Return what makes the digest of an input one that cannot be looked up; new for every evidence."""
    return secrets.token_bytes(32)


def evidence_of(account: Account, proof: Proof) -> Evidence:
    """Return what a run leaves behind for those who were not there.

    **Guarantee.** No cell is in it, neither of the input nor of the output. Names of categories, which a recipe may
    hold, are keyed digests: they can be recognised by who has the output, and guessed by who can guess the names.
    What is promised at random can be undone by who knows the seed: then seed and fingerprint are left out.
    """
    recipe, audit = dict(account.recipe), _told(account.audit)
    secret = registry.says("release", recipe["release"], "guarantee") == _RANDOM
    leaving = proof.leaving
    over = list(account.audit.quasi if leaving.link is None else (leaving.link,))
    return Evidence(
        {
            "format": FORMAT,
            "recipe": _without_names(recipe, proof.salt, secret=secret),
            "fingerprint": None if secret else account.fingerprint,
            "seed": None if secret else recipe["seed"],
            "versions": dict(account.versions),
            "salt": proof.salt.hex(),
            "input": {**_end(account.source, proof.source), "hmac_sha256": proof.source.hex},
            "outputs": [
                {**_end(name, digest), "sha256": digest.hex, "records": table.data.num_rows}
                for (name, digest), table in zip(proof.outputs, tables_of(leaving), strict=True)
            ],
            "records": account.audit.records,
            "left_out": account.left_out,
            "columns": {
                name: one
                for table in tables_of(leaving)
                for name, one in columns_of(table, proof.salt, placed="n" in recipe).items()
            },
            "text": None if leaving.dialect is None else _text(leaving.dialect),
            "link": leaving.link,
            "audit": audit.to_dict(),
            "findings": [finding_as_dict(finding) for finding in audit.findings],
            "class_sizes": {"over": over, "sizes": histogram(leaving, over)},
            "readings": account.readings.to_dict(),
            **({} if account.ledger is None else {"ledger": account.ledger.to_dict()}),
            "note": account.note,
            **({} if account.certificate is None else {"certificate": account.certificate.to_dict()}),
        }
    )


def _told(audit: Audit) -> Audit:
    return replace(audit, overall=told(audit.overall), findings=tuple(map(told, audit.findings)))


def told(finding: Finding) -> Finding:
    """Return what may be told of a finding: what a class of one record weighs is a cell, and is left out.

    >>> told(Finding("k_anonymity", ("age",), 1, None, True, 9, found=(("weighted_k", 7.5),))).found
    ()
    """
    lonely = finding.confidential is None and not finding.achieved > 1
    return replace(finding, found=()) if lonely else finding


def finding_as_dict(finding: Finding) -> dict[str, Any]:
    """Return all of a finding but which classes are the worst, which only helps an intruder."""
    return {
        "model": finding.model,
        "attributes": list(finding.attributes),
        "confidential": finding.confidential,
        "given": dict(finding.given),
        "level": finding.level,
        "required": finding.required,
        "achieved": finding.achieved,
        "found": dict(finding.found),
        "classes": finding.classes,
        "holds": finding.holds,
        "promised": finding.promised,
        "short": finding.short,
        "note": finding.note,
    }


def histogram(release: Release, over: Sequence[str]) -> list[list[int]]:
    """Return how many classes there are of each size in records: pairs, the smallest first."""
    import numpy as np

    from shoal.privacy.k_anonymity import class_sizes

    sizes, counts = np.unique(class_sizes(replace(release, subjects=None), tuple(over)), return_counts=True)
    return [[int(size), int(count)] for size, count in zip(sizes, counts, strict=True)]


def tables_of(release: Release) -> tuple[Release, ...]:
    """Return the tables that leave: one, or two."""
    return (release,) if release.apart is None else (release, release.apart)


def _end(name: str, digest: Digest) -> dict[str, Any]:
    return {"name": name, "of": digest.of, "bytes": digest.size}


def _without_names(recipe: dict[str, Any], salt: bytes, *, secret: bool) -> dict[str, Any]:
    """Return a recipe with digests for what names categories: orders, taxonomies, and cells that mean no value."""
    for field_ in ("orders", "taxonomies"):
        if field_ in recipe:
            recipe[field_] = {name: _hidden(salt, value) for name, value in recipe[field_].items()}
    if "missing" in recipe.get("text", {}):
        recipe["text"] = {**recipe["text"], "missing": _hidden(salt, recipe["text"]["missing"])}
    return {name: value for name, value in recipe.items() if name != "seed"} if secret else recipe


def _hidden(salt: bytes, value: Any) -> str:
    return _HIDDEN + of_name(salt, digest_of(value))


def names_hidden(recipe: Mapping[str, Any]) -> bool:
    """Tell whether a recipe of an evidence has digests in it, so that its fingerprint cannot be found again."""
    return bool(recipe.get("orders") or recipe.get("taxonomies") or "missing" in recipe.get("text", {}))


def _text(dialect: Dialect) -> dict[str, Any]:
    """Return how a text file is written; which cells mean no value is said of each column."""
    names = ("delimiter", "quote", "encoding", "decimal", "datetime")
    return {name: getattr(dialect, name) for name in names}
