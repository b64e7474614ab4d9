"""The gate for two tables: quasi-identifiers in the first, confidential columns in the second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from shoal import registry
from shoal.errors import GuaranteeError, listing
from shoal.flow.plan.promise import Promise
from shoal.flow.plan.release_traits import comparable_with_original
from shoal.flow.plan.required_models import unpromised
from shoal.flow.stages.values import with_values
from shoal.types import Audit, Finding, Release, Role


def audit_two_tables(
    release: Release,
    apart: Release,
    promise: Promise,
    audit_table: Callable[[Release, Promise], Audit],
    audit_persons: Callable[[Release, Promise, Sequence[tuple[str, ...]]], Sequence[Finding]],
) -> Audit:
    """Audit two tables as they will be published, and refuse them if their promise does not hold.

    The classes are those that both tables show.
    """
    link = _linked(release, apart, promise)
    _refuse_mixed(release, apart, promise, link)
    release = with_values(release, release.schema.names(Role.WEIGHT))
    seen = replace(release, apart=comparable_with_original(apart))
    found: Finding = registry.load("privacy", promise.model)(promise.k).audit(seen, (link,))
    persons = audit_persons(release, promise, [(link,)])
    for one in (found, *persons):
        if not one.holds:
            raise GuaranteeError(
                f"The audit of the output found less than was promised: {one.subject} requires {one.levels[0]} and "
                f"achieves {one.levels[1]} ({one.note}). Nothing was written."
            )
    _refuse_crossing(release, promise, link)
    second = audit_table(replace(apart, original=None), promise.of_second_table(link))
    overall = unpromised(release, promise.quasi, "quasi-identifiers are released unchanged")
    rest = (f for f in second.findings if f is not second.overall)
    findings = (found, overall, *rest, *persons)
    return Audit(release.data.num_rows, promise.quasi, promise.confidential, overall, findings, link)


def _linked(release: Release, apart: Release, promise: Promise) -> str:
    """Return the column that joins both tables, which must be unique; confidential columns are in the second only."""
    link = release.link
    if link is None or apart.data.column_names != [link, *_in_order(promise, apart)]:
        raise GuaranteeError(
            "The second table must have the class column and the confidential columns only. Nothing was written."
        )
    if shared := [n for n in release.data.column_names if n != link and n in apart.data.column_names]:
        raise GuaranteeError(f"Confidential columns are in the first table: {listing(shared)}. Nothing was written.")
    return link


def _in_order(promise: Promise, apart: Release) -> list[str]:
    """Return the confidential columns in table order, each once; columns that the table lacks come last."""
    there = [name for name in apart.data.column_names if name in promise.confidential]
    return [*there, *(name for name in promise.confidential if name not in there)]


def _refuse_mixed(release: Release, apart: Release, promise: Promise, link: str) -> None:
    """Refuse identifiers in either table, and a first table without its quasi-identifiers or its link."""
    names = release.data.column_names
    if stray := [name for name in promise.removed if name in (*names, *apart.data.column_names)]:
        raise GuaranteeError(f"Identifiers would have been released: {listing(stray)}. Nothing was written.")
    if lacking := [name for name in (*promise.quasi, *promise.strata, link) if name not in names]:
        raise GuaranteeError(f"Columns are not in the output: {listing(lacking)}. Nothing was written.")


def _refuse_crossing(release: Release, promise: Promise, link: str) -> None:
    """Refuse classes that cross strata, or split groups of records."""
    from shoal.privacy.k_anonymity import class_sizes, split_subjects

    bare = replace(release, subjects=None)
    if len(class_sizes(bare, (link, *promise.strata))) != len(class_sizes(bare, (link,))):
        raise GuaranteeError(f"Classes cross the strata of {listing(promise.strata)}. Nothing was written.")
    if promise.counted is not None and release.subjects is None:
        raise GuaranteeError(f"The value of {promise.counted!r} is not known for every record. Nothing was written.")
    if promise.together is not None and (split := split_subjects(release, (link,))):
        raise GuaranteeError(
            f"Records of {split:,} groups of {promise.together!r} must stay together and are in several classes. "
            f"Nothing was written."
        )
