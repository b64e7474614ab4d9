"""The gate: audits a release of one table or two as it will be published; refuses it if its promise does not hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import registry
from shoal.errors import GuaranteeError, listing
from shoal.flow.gate.pseudonyms import audit_pseudonyms, people_attacker
from shoal.flow.plan.components import findings_of, of_population_in, reported_models, unpromised
from shoal.flow.plan.merging import is_mergeable
from shoal.flow.plan.promise import Promise, count_unchanged
from shoal.flow.plan.release_traits import comparable_with_original
from shoal.flow.stages.values import with_values
from shoal.recipe.requirements import Required
from shoal.types import SECOND, Attacker, Audit, Finding, Release, Role, TableModel


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


_CLOSE = ("t_closeness", "n_t_closeness")
_SAME_VALUE = ("p_sensitivity", "alpha_k")  # they say in which classes records share a value
_DIGITS = 3  # significant digits of a figure that depends on unreleased weights or subjects
SEEDED = "NOT PRIVATE: values were swapped with a seed, for a test, and the swap can be reversed"


def gate(release: Release, promise: Promise) -> Audit:
    """Audit a release of one table or two, and refuse it if its promise does not hold.

    Raises
    ------
    GuaranteeError
        If the audit finds less than was promised, or could not look at everything.
    """
    if (release.apart is not None) is not promise.two_tables:
        raise GuaranteeError("The release lacks a table that it must have. Nothing was written.")
    if release.apart is None:
        audit = audit_table(release, promise)
    else:
        audit = audit_two_tables(release, release.apart, promise, audit_table, audit_persons)
    again = findings_of(release, promise.quasi if audit.link is None else (audit.link,), promise.replayed, ())
    people = _of_population(release, promise)
    audit = replace(audit, findings=(*audit.findings, *again, *people), attacker=attacker_of(release, promise))
    if not audit.holds:
        raise GuaranteeError(_failed(audit))
    return replace(audit, unchanged=count_unchanged(release, promise))


def _of_population(release: Release, promise: Promise) -> list[Finding]:
    """Audit the models that count people of a population; without one, none that is required holds."""
    models = of_population_in(promise.population, given=release.population is not None)
    if not models:
        return []
    return findings_of(with_values(release, (*promise.quasi, *promise.strata)), promise.quasi, models, ())


def attacker_of(release: Release, promise: Promise) -> Attacker | None:
    """Return the attacker that a release withstands; None if it promises no k.

    Someone who knows the algorithm is withstood only if every class is a union of atoms, each of at least k records, or
    of at least k people where k counts them.
    """
    if not promise.withstands:
        return None
    replays = max((int(dict(one.levels)["replays"]) for one in promise.replayed), default=0)
    counted = "person" if promise.together is None else "group"
    weak = Attacker("table", promise.k, None, counted, replays, SECOND if promise.two_tables else "record")
    if promise.withstands != "algorithm" or (promise.counted is not None and release.subjects is None):
        return weak
    (block,) = promise.blocks
    if promise.pseudonym is not None:
        return people_attacker(release, promise.k, block.atom_labels, weak)
    if block.atoms is None and promise.counted is None:  # every class is an atom, and every record a person
        return weak if int(block.sizes.min()) < promise.k else replace(weak, knows="algorithm")
    atoms = np.unique(block.atom_labels, return_inverse=True)[1].reshape(-1)
    united = len(np.unique(atoms * len(block) + block.labels)) == int(atoms.max()) + 1
    fewest, share = _people_in(release, promise, atoms)
    if not united or fewest < promise.k:
        return weak
    return replace(weak, knows="algorithm", share=share)


def _people_in(release: Release, promise: Promise, atoms: NDArray[np.int64]) -> tuple[int, float | None]:
    """Return the smallest number of people in an atom, and the largest share of its records that one of them holds.

    The output does not show the atoms. The share stays the same if members of an atom are exchanged, and is rounded up
    to 3 digits; None: everyone has one record.
    """
    from shoal.privacy.counting.classes import people_of

    sizes = np.bincount(atoms)
    if promise.counted is None:
        return int(sizes.min()), None
    people = np.unique(people_of(release).codes, return_inverse=True)[1].reshape(-1)
    pairs, held = np.unique(atoms * (int(people.max()) + 1) + people, return_counts=True)
    inside = pairs // (int(people.max()) + 1)
    most = float((held / sizes[inside]).max())
    return int(np.bincount(inside).min()), rounded_share(most)


def rounded_share(share: float) -> float:
    """Round the largest share of a person up to 3 decimals.

    >>> rounded_share(0.2), rounded_share(1 / 3)
    (0.2, 0.334)
    """
    steps = 10.0**_DIGITS
    return math.ceil(share * steps * (1 - 1e-12)) / steps


def audit_table(release: Release, promise: Promise) -> Audit:
    """Audit one table as it will be published, and refuse it if its promise does not hold."""
    refuse_columns(release.data.column_names, promise)
    _refuse_digits(release)
    release = with_values(release, release.schema.names(Role.WEIGHT))
    seen = release if promise.visible_classes else comparable_with_original(release)
    findings = _of_records(seen, promise)
    if promise.together is not None:
        _refuse_split(release, promise)
    overall, more = _overall(release, seen, promise, findings[0])
    findings += more
    findings += audit_pseudonyms(release, promise)
    if promise.visible_classes:  # otherwise classes are not visible, and nothing is required of them
        findings += _with_weights(seen, promise)
        findings += _of_confidential(release, promise)
    findings += _of_noise(release, promise)
    findings += audit_persons(release, promise, _over_classes(promise))
    audit = Audit(release.data.num_rows, promise.quasi, promise.confidential, overall, tuple(findings))
    if not audit.holds:
        raise GuaranteeError(_failed(audit))
    return audit


def refuse_columns(there: Sequence[str], promise: Promise) -> None:
    """Refuse an output that contains columns that must be removed, or lacks confidential ones."""
    stray = [name for name in promise.removed if name in there]
    if promise.weight in stray:
        raise GuaranteeError(f"The weight {promise.weight!r} would have been released. Nothing was written.")
    if stray:
        raise GuaranteeError(f"Identifiers would have been released: {listing(stray)}. Nothing was written.")
    if lacking := [name for name in promise.confidential if name not in there]:
        raise GuaranteeError(f"Confidential columns are not in the output: {listing(lacking)}. Nothing was written.")


def _refuse_digits(release: Release) -> None:
    """Refuse values written with more digits than their column has."""
    from shoal.privacy.counting.staged_file import too_fine

    if fine := too_fine(with_values(release, list(release.resolutions))):
        raise GuaranteeError(
            f"Released values have more digits than their resolution allows: {listing(fine)}. Nothing was written."
        )


def _refuse_split(release: Release, promise: Promise) -> None:
    """Refuse a release in which records of one group are not written the same."""
    from shoal.privacy.k_anonymity import split_subjects

    if release.subjects is None:
        raise GuaranteeError("It is not known which records must stay together. Nothing was written.")
    for names in [block.attributes for block in promise.blocks if promise.whole.issuperset(block.attributes)]:
        if split := split_subjects(release, names):
            raise GuaranteeError(
                f"Records of {split:,} groups of {promise.together!r} must stay together and are in several classes "
                f"over {listing(names)}. Nothing was written."
            )


def _of_records(release: Release, promise: Promise) -> list[Finding]:
    """Audit k in each block, alone and with the strata; classes never cross strata, so k holds there too."""
    model: TableModel = registry.load("privacy", promise.model)(promise.k)
    found = [
        model.audit(release, block.attributes) if block.promised else unpromised(release, block.attributes, block.note)
        for block in promise.blocks
    ]
    if promise.strata:
        inside = [(*block.attributes, *promise.strata) for block in promise.blocks if block.promised]
        found += [model.audit(release, names) for names in inside]
    if promise.visible_classes or not promise.seeded:
        return found
    return [replace(f, promised=False, required=None, note=f"{SEEDED}; {f.note}") if f.promised else f for f in found]


def _overall(
    release: Release, seen: Release, promise: Promise, of_first_block: Finding
) -> tuple[Finding, list[Finding]]:
    """Return the finding of k over all quasi-identifiers, and the findings made for it."""
    if not promise.visible_classes:  # in records: cells and subjects of a row belong to different people
        found = unpromised(replace(release, subjects=None), promise.quasi, "combinations are counted as released")
        return found, [found]
    if promise.nested and len(promise.blocks) == 2:  # classes of records lie within those of their groups
        whole = replace(promise, blocks=(replace(promise.blocks[0], attributes=promise.quasi),))
        both = _of_records(seen, whole)
        return both[0], both
    if len(promise.blocks) > 1:
        found = registry.load("privacy", "k_anonymity")().audit(release, promise.quasi)
        real = f"real anonymity k′ = {len(release.data) / max(found.classes, 1):.2f}"
        return found, [replace(found, note=f"over all blocks together, which is not promised; {real}")]
    return of_first_block, []


def _with_weights(release: Release, promise: Promise) -> list[Finding]:
    """Audit k over the quasi-identifiers and the class weight jointly: a weight must not distinguish records."""
    if not promise.weights_of_classes or not promise.weight or not all(block.promised for block in promise.blocks):
        return []
    model: TableModel = registry.load("privacy", promise.model)(promise.k)
    over = [(*promise.quasi, promise.weight)]
    if promise.strata:
        over.append((*promise.quasi, *promise.strata, promise.weight))
    return [model.audit(release, names) for names in over]


def _of_confidential(release: Release, promise: Promise) -> list[Finding]:
    """Audit confidential columns: the required models, and the other models for information.

    A column that cannot be audited is refused, whether or not anything is required of it.
    """
    from shoal.privacy.t_closeness import TCloseness

    required = list(promise.required)
    informative = reported_models(required, promise.confidential)
    if release.references:  # a part of a table
        informative = [one for one in informative if is_mergeable(one.key)]
    readable = with_values(release, promise.confidential)
    if any(one.key == "n_t_closeness" for one in required):  # n_t_closeness reads quasi-identifiers as positions
        readable = with_values(readable, promise.quasi)
    if not promise.promises_t:
        required = [
            replace(one, key="t_closeness", model=TCloseness()) if one.key in _CLOSE else one for one in required
        ]
    # classes never cross strata, so the levels hold there too
    over = [promise.quasi, *([(*promise.quasi, *promise.strata)] if promise.strata else [])]
    found = [f for names in over for f in findings_of(readable, names, required, promise.confidential)]
    _all_looked_at(required, promise.confidential, over, found)
    if not promise.promises_t:
        found = [_not_promised(f) if f.model == "t_closeness" else f for f in found]
        informative = [one for one in informative if one.key != "t_closeness"]
    reported = findings_of(readable, promise.quasi, informative, promise.confidential)
    if promise.strata:  # an attacker who knows the stratum as well may see values that all members share
        shown = [one for one in informative if one.key in _SAME_VALUE]
        reported += findings_of(readable, over[-1], shown, promise.confidential)
    return [*found, *reported]


def _all_looked_at(
    required: Sequence[Required],
    confidential: Sequence[str],
    over: Sequence[tuple[str, ...]],
    found: Sequence[Finding],
) -> None:
    """Fail if a required model has no finding for a column: the audit must not pass what it did not check."""
    seen = {(f.model, f.confidential, f.attributes) for f in found}
    for one in required:
        for name in one.columns or confidential:
            if any((one.key, name, names) not in seen for names in over):
                raise GuaranteeError(
                    f"{one.key} of column {name!r} was required, but the audit did not look at it. Nothing was written."
                )


def _not_promised(finding: Finding) -> Finding:
    return replace(finding, promised=False, note=f"t is not promised; {finding.note}".rstrip("; "))


def _of_noise(release: Release, promise: Promise) -> list[Finding]:
    """Audit the noise if ε is promised: the added noise against the noise that ε requires."""
    from shoal.privacy.differential_privacy import DifferentialPrivacy

    if (promise.epsilon is None) is not (release.ledger is None):
        raise GuaranteeError("Noise was requested and not added, or added and not requested. Nothing was written.")
    if promise.epsilon is None or release.ledger is None:
        return []
    if release.ledger.claim != promise.claim:
        raise GuaranteeError("The release's claim differs from the recipe's. Nothing was written.")
    return [DifferentialPrivacy(promise.epsilon).audit(with_values(release, promise.quasi), promise.quasi)]


def _over_classes(promise: Promise) -> list[tuple[str, ...]]:
    """Return the columns in which the records of a class are equal: each block, alone and with the strata."""
    over = [block.attributes for block in promise.blocks]
    if promise.nested and len(over) == 2:
        over.append(promise.quasi)
    return over + [(*names, *promise.strata) for names in over] if promise.strata else over


def audit_persons(release: Release, promise: Promise, over: Sequence[tuple[str, ...]]) -> list[Finding]:
    """Audit the class shares of single people, over each of several sets of columns."""
    if not promise.persons:
        return []
    seen = release if promise.visible_classes or promise.two_tables else _by_classes(release)
    found = [found for one in promise.persons for names in over for found in findings_of(seen, names, [one], ())]
    return [published(finding) for finding in found] if promise.hidden_figures else found


def published(finding: Finding) -> Finding:
    """Round a finding's figure up to three digits, but not above a required level that holds.

    >>> published(Finding("dominance", ("age",), 0.41239, 0.5, True, 9)).achieved
    0.413
    """
    if not 0 < finding.achieved < 1:
        return finding
    step = 10.0 ** (_DIGITS - 1 - math.floor(math.log10(finding.achieved)))
    up = math.ceil(finding.achieved * step * (1 - 1e-12)) / step
    if finding.required is not None:
        up = min(up, finding.required) if finding.holds else finding.achieved
    return replace(finding, achieved=up)


def _by_classes(release: Release) -> Release:
    """Return a release with class numbers in place of values, if equal values do not show classes."""
    numbers = {name: pa.chunked_array([pa.array(labels)]) for name, labels in release.classes.items()}
    columns = {name: numbers.get(name, release.data.column(name)) for name in release.data.column_names}
    return replace(release, data=pa.table(columns))


def _failed(audit: Audit) -> str:
    """Return the sentence that refuses a release: each finding that does not hold, and what to change."""
    broken = [f for f in audit.findings if not f.holds]
    sentences = [
        f"{f.subject} requires {f.levels[0]} and achieves {f.levels[1]}"
        f"{' (' + f.note + ')' if f.note and f.confidential is None else ''}"
        for f in broken
    ]
    remedies = []
    if any(f.model == "dominance" for f in broken):
        remedies.append(" Raise k or the share.")
    if any("counted in subjects" in f.note for f in broken):
        remedies.append(" Raise k, or keep one record of each subject.")
    if any(f.model == "exchangeability" for f in broken):
        remedies.append(" Choose auto or another exchangeable method, and attacker = algorithm.")
    if any(f.model in ("k_map", "delta_presence") for f in broken):
        remedies.append(" Raise k, or require less of the population.")
    if any(f.model in _CLOSE for f in broken):
        remedies.append(" Raise t.")
    if any(f.confidential is not None and f.model not in _CLOSE for f in broken):
        remedies.append(" Require less.")
    found = f"The audit of the output found less than was promised: {'; '.join(sentences)}. Nothing was written."
    return found + "".join(remedies)
