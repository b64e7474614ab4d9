"""Audit of pseudonyms: they show the people and nothing else, and k people share each set of combinations."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeError
from shoal.flow.plan.promise import Promise
from shoal.types import Attacker, Finding, Release

_RANDOM = re.compile(r"p[0-9a-f]{16}")  # and not another spelling of an identifier, such as 12.0 for 12


def audit_pseudonyms(release: Release, promise: Promise) -> list[Finding]:
    """Check the column of pseudonyms as written, and count the people who share each set of combinations.

    Raises
    ------
    GuaranteeError
        If the column is missing, has gaps, does not show exactly the people, or holds the name of one.
    """
    from shoal.privacy.k_sets import KSets

    if promise.pseudonym is None:
        return []
    refuse_wrong_pseudonyms(release, promise.pseudonym)
    seen = replace(release, subjects=release.data.column(promise.pseudonym), subject_exact=True)
    return [KSets(promise.k).audit(seen, names) for names in visible_in(promise)]


def visible_in(promise: Promise) -> list[tuple[str, ...]]:
    """Return the sets of columns that are equal within a class: quasi-identifiers, with strata and class weights."""
    found = [promise.quasi]
    if promise.strata:
        found.append((*promise.quasi, *promise.strata))
    if promise.weight and promise.weights_of_classes:
        found += [(*names, promise.weight) for names in found]
    return found


def refuse_wrong_pseudonyms(release: Release, name: str) -> None:
    """Refuse pseudonyms that are missing, not one for each person, equal to an identifier, or not random names."""
    from shoal.privacy.counting.classes import comparable, people_of

    if name not in release.data.column_names:
        raise GuaranteeError(f"The pseudonyms {name!r} are not in the output. Nothing was written.")
    column = comparable(name, release.data.column(name))
    if release.subjects is None or column.null_count:
        raise GuaranteeError(f"Some records have no person or no pseudonym in {name!r}. Nothing was written.")
    people = people_of(release).codes
    given = np.asarray(column.combine_chunks().dictionary_encode().indices.to_numpy(), np.int64)
    pairs = len(np.unique(np.column_stack((people, given)), axis=0))
    if not pairs == len(np.unique(people)) == len(np.unique(given)):
        raise GuaranteeError(f"The pseudonyms in {name!r} are not one for each person. Nothing was written.")
    subjects = comparable("subject", release.subjects).unique().to_pylist()
    if {str(one) for one in subjects} & {str(one) for one in column.unique().to_pylist()}:
        raise GuaranteeError(f"A pseudonym in {name!r} is the identifier of a person. Nothing was written.")
    if not all(_RANDOM.fullmatch(str(one)) for one in release.data.column(name).unique().to_pylist()):
        raise GuaranteeError(f"Some pseudonyms in {name!r} are not random names. Nothing was written.")


def people_attacker(release: Release, k: int, atoms: NDArray[np.int64], weak: Attacker) -> Attacker:
    """Return the attacker that is withstood where whole people are exchanged: k of them must share all their atoms."""
    from shoal.privacy.counting.classes import people_of
    from shoal.privacy.counting.sets import sets_of

    people = np.unique(people_of(release).codes, return_inverse=True)[1].reshape(-1)
    fewest = int(np.bincount(sets_of(people, atoms)).min())
    return weak if fewest < k else replace(weak, knows="algorithm", counted="pseudonym")
