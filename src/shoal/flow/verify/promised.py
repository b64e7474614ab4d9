"""Promises of a release, and whether a reader's requirements are among them and confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.errors import listing
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, of_confidential
from shoal.types import Check, Finding, Promise, Verdict

_K, _NOISE = "k_anonymity", "differential_privacy"
_PROTECTING = (_K, "probabilistic_k_anonymity", "anatomy_k", _NOISE)
_AT_LEAST = frozenset({"k", "p", "l", "e"})
_AT_MOST = frozenset({"t", "alpha", "share", "epsilon"})


def promises_in(claims: Sequence[Finding]) -> tuple[Promise, ...]:
    """Return the levels that are promised; the others are reported for information."""
    return tuple(
        Promise(one.model, one.short, (*(level for _, level in one.given), required), one.attributes, one.confidential)
        for one in claims
        if one.promised and (required := one.required) is not None
    )


def promised_k(recipe: Recipe, claims: Sequence[Finding]) -> int | None:
    """Return the k that is promised over all quasi-identifiers together; more columns make smaller classes."""
    found = [one.required for one in claims if one.model == _K and one.promised and _over_all(one, recipe, None)]
    return max((int(k) for k in found if k is not None), default=None)


def without_promise(recipe: Recipe, claims: Sequence[Finding], link: str | None) -> Iterator[Check]:
    """Say what a reader may expect, and the release does not promise: k over all columns together, a required t."""
    if not any(
        one.model in _PROTECTING and one.promised and one.required is not None and _over_all(one, recipe, link)
        for one in claims
    ):
        shown = [one.achieved for one in claims if one.model == _K and one.attributes == recipe.quasi]
        why = f"k = {shown[0]:g} by the evidence" if shown else "the evidence says nothing of it"
        yield Check("k over all quasi-identifiers together", Verdict.NOT_PROMISED, why)
    for one in claims:
        if one.confidential is not None and not one.promised:
            why = f"{one.level} = {one.achieved:.3g} by the evidence"
            yield Check(f"{one.level} of {one.confidential}, which the recipe sets", Verdict.NOT_PROMISED, why)


def met(
    required: Sequence[Required], recipe: Recipe, looked_at: Sequence[tuple[Finding, Check]], link: str | None
) -> Iterator[Check]:
    """Check that each requirement of the reader is promised, at its level or a stricter one, and confirmed."""
    for one in required:
        columns: tuple[str | None, ...] = one.columns or recipe.confidential if of_confidential(one.key) else (None,)
        for column in columns:
            yield _met(one, column, recipe, looked_at, link)
        if not columns:
            yield Check(f"Required: {_asked(one, None)}", Verdict.FAILS, "no column is confidential")


def _met(
    one: Required, column: str | None, recipe: Recipe, looked_at: Sequence[tuple[Finding, Check]], link: str | None
) -> Check:
    claim = f"Required: {_asked(one, column)}"
    about = [
        (finding, check)
        for finding, check in looked_at
        if finding.model == one.key and finding.confidential == column and finding.promised
        if finding.required is not None and _over_all(finding, recipe, link)
    ]
    if not about:
        return Check(claim, Verdict.FAILS, "not promised over all quasi-identifiers together")
    strict = [(finding, check) for finding, check in about if _reaches(finding, one)]
    if not strict:
        levels = listing([f"{finding.level} = {finding.required:g}" for finding, _ in about])
        return Check(claim, Verdict.FAILS, f"promised at another level: {levels}")
    for finding, check in strict:
        if check.verdict is Verdict.HOLDS:
            return Check(claim, Verdict.HOLDS, f"promised over {listing(finding.attributes)}, and confirmed")
    return Check(claim, Verdict.FAILS, f"promised, but not confirmed: {strict[0][1].why}")


def _asked(one: Required, column: str | None) -> str:
    levels = ":".join(f"{level:g}" for _, level in one.levels if isinstance(level, (int, float)))
    return f"{one.model.short} = {levels}" + ("" if column is None else f" of {column}")


def _over_all(finding: Finding, recipe: Recipe, link: str | None) -> bool:
    """Tell whether a finding is about all quasi-identifiers together, or about the classes that join two tables."""
    return finding.model == _NOISE or finding.attributes == (link,) or set(recipe.quasi) <= set(finding.attributes)


def _reaches(finding: Finding, one: Required) -> bool:
    """Tell whether a promised level is as strict as the required one."""
    promised = {**dict(finding.given), finding.level: finding.required}
    return all(
        _as_strict(name, promised.get(name), asked) if name == finding.level else promised.get(name) == asked
        for name, asked in one.levels
        if asked is not None
    )


def _as_strict(name: str, promised: float | None, asked: float) -> bool:
    if promised is None:
        return False
    if name in _AT_LEAST:
        return promised >= asked
    return promised <= asked if name in _AT_MOST else promised == asked
