"""Release → Audit, and the gate: what fails its own audit does not leave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import GuaranteeError, listing
from shoal.recipe import Recipe
from shoal.sources import source_for
from shoal.types import Audit, Dialect, Release

if TYPE_CHECKING:
    import pyarrow as pa


def read_back(staged: Path, release: Release, dialect: Dialect | None) -> Release:
    """Read what was written, and see that nothing but the quasi-identifiers could have changed on the way."""
    source = source_for(staged)
    data, _ = (source() if dialect is None else source.of(dialect)).read(staged)
    if data.column_names != release.data.column_names or data.num_rows != release.data.num_rows:
        raise GuaranteeError("The staged output lacks rows or columns of the release. Nothing was written.")
    for name in data.column_names:
        before, after = release.data.column(name), data.column(name)
        if before.type == after.type and not _is_float(after) and not before.equals(after):
            raise GuaranteeError(f"Column {name!r} changed on its way to the disk. Nothing was written.")
    return replace(release, data=data)


def _is_float(column: pa.ChunkedArray) -> bool:  # where NaN differs from itself
    import pyarrow as pa

    return bool(pa.types.is_floating(column.type))


def gate(release: Release, recipe: Recipe) -> Audit:
    """Audit a release as it will leave, and refuse it if what was promised does not hold."""
    from shoal.privacy.k_anonymity import KAnonymity

    stray = [n for n in (*recipe.identifier, recipe.subject) if n in release.data.column_names]
    if stray:
        raise GuaranteeError(f"Identifiers would have left: {listing(stray)}. Nothing was written.")
    quasi = recipe.quasi
    findings = [KAnonymity(recipe.k).audit(release, block) for block in recipe.all_blocks]
    if recipe.strata:  # classes do not cross strata, so who knows a record's stratum learns no more
        findings += [KAnonymity(recipe.k).audit(release, (*b, *recipe.strata)) for b in recipe.all_blocks]
    if len(recipe.all_blocks) > 1:
        over_all = KAnonymity().audit(release, quasi)
        findings.append(replace(over_all, note="over all blocks together: not promised, only reported"))
    audit = Audit(release.data.num_rows, quasi, recipe.confidential, tuple(findings))
    if not audit.holds:
        raise GuaranteeError(_failed(audit))
    return audit


def _failed(audit: Audit) -> str:
    broken = [f for f in audit.findings if not f.holds]
    sentences = [
        f"{f.model} over {listing(f.attributes)} requires {f.required:g} and achieves {f.achieved:g}"
        f"{' (' + f.note + ')' if f.note else ''}"
        for f in broken
    ]
    remedy = " Raise k, or keep one record of each subject." if any(f.note for f in broken) else ""
    return f"The audit of the output found less than was promised: {'; '.join(sentences)}. Nothing was written.{remedy}"
