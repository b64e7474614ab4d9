"""Run → Evidence: the promises and findings of a run, with digests in place of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import secret
from shoal.flow.evidence.column_semantics import columns_of
from shoal.flow.evidence.receipt import Commitment, Digest, Receipt, of_file, of_name, of_path, of_table
from shoal.report.evidence import FORMAT, Evidence, digest_of, published, publishes
from shoal.types import Audit, Dialect, Finding, Release, Run
from shoal.types.run import FEWEST

_HIDDEN = "hmac-sha256:"


@dataclass(frozen=True, eq=False)
class Proof:
    """Inputs of evidence in addition to the run: the release as it was read back, and the tables' digests.

    Attributes
    ----------
    leaving
        The release as it was read back.
    outputs
        The name and the digest of each released table, one or two.
    salt
        The key of the digests of category names, new for every evidence.
    receipt
        Makes the receipt of the run, with a new nonce.
    """

    leaving: Release = field(repr=False)
    outputs: tuple[tuple[str, Digest], ...]
    salt: bytes = field(repr=False)
    receipt: Callable[[], Receipt] = field(repr=False)
    records: int | None = None  #: number of records in the output, if `leaving` is only a sample of it
    class_sizes: list[list[int]] | None = field(default=None, repr=False)  #: of such an output

    @classmethod
    def of_path(
        cls,
        sample: Release,
        name: str,
        staged: Path,
        receipt: Callable[[], Receipt],
        records: int,
        class_sizes: list[list[int]],
    ) -> Proof:
        """Return the proof of a staged file or folder that is larger than memory, given a sample of it."""
        return cls(sample, ((name, of_path(staged)),), secret.fresh(), receipt, records, class_sizes)

    @classmethod
    def of_frame(cls, leaving: Release, receipt: Callable[[], Receipt]) -> Proof:
        """Return the proof of a frame, based on its content rather than its type."""
        ends = tuple(zip(("", "confidential"), (of_table(one.data) for one in tables_of(leaving)), strict=False))
        return cls(leaving, ends, secret.fresh(), receipt)

    @classmethod
    def of_files(cls, leaving: Release, ends: Sequence[tuple[str, Any]], receipt: Callable[[], Receipt]) -> Proof:
        """Return the proof of staged tables: digests of file bytes, or of the content of databases."""
        tables = tables_of(leaving)
        outputs = tuple((name, digest_at(at, table.data)) for (name, at), table in zip(ends, tables, strict=True))
        return cls(leaving, outputs, secret.fresh(), receipt)


def digest_at(at: Any, data: pa.Table) -> Digest:
    """Return the digest of a file's bytes, or of a table's content if it is not in a file."""
    return of_file(at) if isinstance(at, Path) else of_table(data)


def evidence_of(account: Run, proof: Proof, commitment: Commitment | None = None) -> Evidence:
    """Return the evidence that others need to check a release.

    **Guarantee.** It contains no cell of the input or the output. Of the input it holds at most the commitment, against
    which a guess cannot be tested without the receipt. Category names are keyed digests, and only of categories that
    occur in the output. Figures computed from original values are rounded to the share of 100 records, are left out
    below 1,000 records, and do not change when two members of a class are exchanged.
    """
    recipe, audit = dict(account.recipe), _told(account.audit)
    leaving = proof.leaving
    over = list(account.audit.quasi if leaving.link is None else (leaving.link,))
    return Evidence(
        {
            "format": FORMAT,
            "recipe": _without_names(recipe, proof.salt),
            "fingerprint": account.fingerprint,
            "seed": recipe["seed"],
            **({"reproducible": False} if "deadline" in recipe else {}),
            "versions": dict(account.versions),
            "salt": proof.salt.hex(),
            "commitment": None if commitment is None else {"of": commitment.of, "sha256": commitment.sha256},
            "outputs": [
                {**_end(name, digest), "sha256": digest.hex, "records": proof.records or table.data.num_rows}
                for (name, digest), table in zip(proof.outputs, tables_of(leaving), strict=True)
            ],
            "records": account.audit.records,
            **({"suppressed": account.suppressed} if account.suppressed else {}),
            "columns": {
                name: one
                for table in tables_of(leaving)
                for name, one in columns_of(table, proof.salt, placed="n" in recipe).items()
            },
            "text": None if leaving.dialect is None else _text(leaving.dialect),
            "link": leaving.link,
            "audit": audit.to_dict(),
            "findings": [finding_as_dict(finding) for finding in audit.findings],
            "class_sizes": {"over": over, "sizes": proof.class_sizes or histogram(leaving, over)},
            "readings": published(account.readings, recipe["release"], account.audit.records).to_dict(),
            **({} if account.ledger is None else {"ledger": account.ledger.to_dict()}),
            **(
                {"certificate": account.certificate.coarse(account.audit.records, len(account.audit.quasi))}
                if account.certificate is not None and publishes(recipe["release"]) and account.audit.records >= FEWEST
                else {}
            ),
        }
    )


def _told(audit: Audit) -> Audit:
    return replace(audit, overall=told(audit.overall), findings=tuple(map(told, audit.findings)))


def told(finding: Finding) -> Finding:
    """Return the publishable part of a finding: the weight of a class of one record is a cell, and is dropped.

    >>> told(Finding("k_anonymity", ("age",), 1, None, True, 9, found=(("weighted_k", 7.5),))).found
    ()
    """
    lonely = finding.confidential is None and not finding.achieved > 1
    return replace(finding, found=()) if lonely else finding


def finding_as_dict(finding: Finding) -> dict[str, Any]:
    """Return a finding without its worst classes, which would only help an attacker."""
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
    """Return the number of classes of each size in records, as pairs, smallest size first."""
    from shoal.privacy.k_anonymity import class_sizes

    sizes, counts = np.unique(class_sizes(replace(release, subjects=None), tuple(over)), return_counts=True)
    return [[int(size), int(count)] for size, count in zip(sizes, counts, strict=True)]


def tables_of(release: Release) -> tuple[Release, ...]:
    """Return the released tables: one or two."""
    return (release,) if release.apart is None else (release, release.apart)


def _end(name: str, digest: Digest) -> dict[str, Any]:
    return {"name": name, "of": digest.of, "bytes": digest.size}


def _without_names(recipe: dict[str, Any], salt: bytes) -> dict[str, Any]:
    """Return a recipe with digests in place of category names: orders, taxonomies, and codes for missing values."""
    for field_ in ("orders", "taxonomies"):
        if field_ in recipe:
            recipe[field_] = {name: _hidden(salt, value) for name, value in recipe[field_].items()}
    if "missing" in recipe.get("text", {}):
        recipe["text"] = {**recipe["text"], "missing": _hidden(salt, recipe["text"]["missing"])}
    return recipe


def _hidden(salt: bytes, value: Any) -> str:
    return _HIDDEN + of_name(salt, digest_of(value))


def names_hidden(recipe: Mapping[str, Any]) -> bool:
    """Tell whether an evidence's recipe contains digests, so that its fingerprint cannot be recomputed."""
    return bool(recipe.get("orders") or recipe.get("taxonomies") or "missing" in recipe.get("text", {}))


def _text(dialect: Dialect) -> dict[str, Any]:
    """Return how a text file is written; codes for missing values are listed per column."""
    names = ("delimiter", "quote", "encoding", "decimal", "datetime")
    found = {name: getattr(dialect, name) for name in names}
    return found if dialect.thousands is None else {**found, "thousands": dialect.thousands}
