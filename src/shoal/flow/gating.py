"""Release → Audit, and the gate: what fails its own audit does not leave."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shoal import registry
from shoal.errors import GuaranteeError, listing
from shoal.recipe import Recipe
from shoal.types import Audit, Dialect, Release

if TYPE_CHECKING:
    import pyarrow as pa


def read_back(staged: Path, release: Release, dialect: Dialect | None) -> Release:
    """Read what was written, and see that nothing but the quasi-identifiers could have changed on the way."""
    source = registry.for_file("sources", staged)
    data, _ = (source() if dialect is None else source.of(dialect)).read(staged)
    if data.column_names != release.data.column_names or data.num_rows != release.data.num_rows:
        raise GuaranteeError("The staged output lacks rows or columns of the release. Nothing was written.")
    for name in data.column_names:
        if not _same(release.data.column(name), data.column(name)):
            raise GuaranteeError(f"Column {name!r} changed on its way to the disk. Nothing was written.")
    return replace(release, data=data)


def _same(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Tell whether a column came back as it was; values that became cells of text are for the audit to look at."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(before.type):
        before = before.cast(before.type.value_type)
    if pa.types.is_dictionary(after.type):
        after = after.cast(after.type.value_type)
    if before.type != after.type:
        if pa.types.is_string(after.type) and not pa.types.is_large_string(before.type):
            return True
        before = before.cast(after.type, safe=False)
    if pa.types.is_floating(after.type):  # where NaN differs from itself
        equal = pc.or_(pc.equal(before, after), pc.and_(pc.is_nan(before), pc.is_nan(after)))
        return before.null_count == after.null_count and pc.sum(equal).as_py() in (None, len(after) - after.null_count)
    return bool(before.equals(after))


def gate(release: Release, recipe: Recipe) -> Audit:
    """Audit a release as it will leave, and refuse it if what was promised does not hold."""
    from shoal.privacy.k_anonymity import KAnonymity

    stray = [n for n in (*recipe.identifier, recipe.subject) if n in release.data.column_names]
    if stray:
        raise GuaranteeError(f"Identifiers would have left: {listing(stray)}. Nothing was written.")
    blocks = recipe.all_blocks
    findings = [KAnonymity(recipe.k).audit(release, block) for block in blocks]
    if recipe.strata:  # classes do not cross strata, so who knows a record's stratum learns no more
        findings += [KAnonymity(recipe.k).audit(release, (*block, *recipe.strata)) for block in blocks]
    overall = findings[0]
    if len(blocks) > 1:
        overall = KAnonymity().audit(release, recipe.quasi)
        findings.append(replace(overall, note="over all blocks together, which is not promised"))
    audit = Audit(release.data.num_rows, recipe.quasi, recipe.confidential, overall, tuple(findings))
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
