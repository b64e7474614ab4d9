"""Release → Audit, and the gate: what fails its own audit does not leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import GuaranteeError, listing
from shoal.flow.gate.persons import dominant, of_persons
from shoal.flow.plan.release_traits import by_grouping, comparable_with_original, guarantee
from shoal.flow.plan.required_models import findings_of, of_values, reported_besides, required_in
from shoal.flow.stages.values import with_values
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required
from shoal.types import Audit, Block, Dialect, Finding, Partition, Release, Role

if TYPE_CHECKING:
    import pyarrow as pa


_CLOSE = ("t_closeness", "n_t_closeness")
SEEDED = "NOT PRIVATE: values were dealt by a seed, for a test, and can be put back"


def read_back(staged: Any, release: Release, dialect: Dialect | None) -> Release:
    """Read what was written, and see that nothing but the quasi-identifiers could have changed on the way."""
    source = registry.for_place("io.sources", staged)
    data, _ = (source() if dialect is None else source.of(dialect)).read(staged)
    if data.column_names != release.data.column_names or data.num_rows != release.data.num_rows:
        raise GuaranteeError("The staged output lacks rows or columns of the release. Nothing was written.")
    for name in data.column_names:
        if not _same(release.data.column(name), data.column(name)):
            raise GuaranteeError(f"Column {name!r} changed on its way to the disk. Nothing was written.")
    in_order = {
        name: _in_order(name, release.data.column(name), data.column(name))
        for name in release.schema.names(Role.CONFIDENTIAL)
        if _loses_order(release.data.column(name), data.column(name))
    }
    back = replace(release, data=data, dialect=dialect, read=in_order)
    return replace(back, read={**in_order, **_declared(release, back)})


def _declared(before: Release, after: Release) -> dict[str, pa.ChunkedArray]:
    """Return confidential columns without the values that the input declared to be missing, where the output cannot.

    They were missing values for the method, so they are for the audit.
    """
    from shoal.schema.order import without_user_missing
    from shoal.types.data.statistical_files import Variable

    found = {}
    for name in before.schema.names(Role.CONFIDENTIAL):
        field = before.data.schema.field(name)
        noted = Variable.of(field)
        if noted is not None and noted.missing and Variable.of(after.data.schema.field(name)) is None:
            found[name] = without_user_missing(field, with_values(after, [name]).read[name])
    return found


def _loses_order(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    return pa.types.is_dictionary(before.type) and before.type.ordered and not pa.types.is_dictionary(after.type)


def _in_order(name: str, before: pa.ChunkedArray, after: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells of text as the ordered categories that they were: a text file cannot say the order itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    categories = before.unify_dictionaries().chunk(0).dictionary
    places = pc.index_in(after, value_set=categories.cast(after.type)).combine_chunks()
    if places.null_count != after.null_count:
        raise GuaranteeError(f"Column {name!r} changed on its way to the disk. Nothing was written.")
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, categories, ordered=True)])


def _same(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Tell whether a column came back as it was; values that became cells of text are for the audit to look at."""
    import pyarrow as pa

    if pa.types.is_dictionary(before.type):
        before = before.cast(before.type.value_type)
    if pa.types.is_dictionary(after.type):
        after = after.cast(after.type.value_type)
    if before.type != after.type:
        if pa.types.is_string(after.type) and not pa.types.is_large_string(before.type):
            return True
        there = before.cast(after.type, safe=False)
        if pa.types.is_floating(before.type) and not _equal(there.cast(before.type, safe=False), before):
            return False  # what came back has fewer digits than the numbers had
        before = there
    return _equal(before, after)


def _equal(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(after.type):  # where NaN differs from itself
        equal = pc.or_(pc.equal(before, after), pc.and_(pc.is_nan(before), pc.is_nan(after)))
        return before.null_count == after.null_count and pc.sum(equal).as_py() in (None, len(after) - after.null_count)
    return bool(before.equals(after))


def gate(release: Release, recipe: Recipe, partition: Partition) -> Audit:
    """Audit a release as it will leave, and refuse it if what was promised does not hold.

    Of the partition only its blocks are believed: which attributes are promised to be k-anonymous together, and whether
    anything is promised at all. Together they must be the quasi-identifiers.
    """
    stray = [n for n in (*recipe.identifier, *recipe.columns(Role.SUBJECT)) if n in release.data.column_names]
    if stray:
        raise GuaranteeError(f"Identifiers would have left: {listing(stray)}. Nothing was written.")
    if recipe.weight in release.data.column_names and recipe.release_weight == "none":
        raise GuaranteeError(f"The weight {recipe.weight!r} would have been released. Nothing was written.")
    if lacking := [n for n in recipe.confidential if n not in release.data.column_names]:
        raise GuaranteeError(f"Confidential columns are not in the output: {listing(lacking)}. Nothing was written.")
    _refuse_digits(release)
    blocks = _blocks(recipe, partition)
    grouped = by_grouping(recipe)
    release = with_values(release, release.schema.names(Role.WEIGHT))
    seen = release if grouped else comparable_with_original(release)
    findings = _of_records(seen, recipe, blocks)
    if recipe.together is not None:
        _refuse_split(release, recipe, blocks)
    overall = findings[0]
    persons = _of_persons(release, recipe, blocks)
    if not grouped:
        overall = _unpromised(release, recipe.quasi, "combinations are counted as they leave")
        findings.append(overall)
    elif recipe.nested and len(blocks) == 2:  # classes of records lie within those of their groups
        both = _of_records(seen, recipe, [(recipe.quasi, replace(blocks[0][1], attributes=recipe.quasi))])
        overall = both[0]
        findings += both
    elif len(blocks) > 1:
        overall = registry.load("privacy", "k_anonymity")().audit(release, recipe.quasi)
        findings.append(replace(overall, note="over all blocks together, which is not promised"))
    findings += _with_weights(seen, recipe, blocks) if grouped else []
    if grouped:  # else the classes cannot be seen, and nothing is required of them
        promised = all(block.promised_t for block in partition.blocks)
        findings += _confidential(release, recipe, promised)
    findings += _of_noise(release, recipe)
    findings += persons
    audit = Audit(release.data.num_rows, recipe.quasi, recipe.confidential, overall, tuple(findings))
    if not audit.holds:
        raise GuaranteeError(_failed(audit))
    return audit


def _of_records(release: Release, recipe: Recipe, blocks: list[tuple[tuple[str, ...], Block]]) -> list[Finding]:
    """Audit what the release promises of records, in each block, and in each block with the strata as they leave."""
    model = registry.load("privacy", guarantee(recipe))(recipe.k)
    found = [
        model.audit(release, names) if block.promised else _unpromised(release, names, block.note)
        for names, block in blocks
    ]
    # classes do not cross strata, so who knows a record's stratum learns no more
    strata = [(*names, *recipe.strata) for names, block in blocks if block.promised] if recipe.strata else []
    found += [model.audit(release, names) for names in strata]
    if by_grouping(recipe) or recipe.set.get("not_private_seed") is None:
        return found
    return [replace(f, promised=False, required=None, note=f"{SEEDED}; {f.note}") if f.promised else f for f in found]


def _with_weights(release: Release, recipe: Recipe, blocks: list[tuple[tuple[str, ...], Block]]) -> list[Finding]:
    """Audit k over the quasi-identifiers and the weight of the class together: a weight must not tell records apart."""
    if recipe.release_weight != "class" or not recipe.weight or not all(block.promised for _, block in blocks):
        return []
    model = registry.load("privacy", guarantee(recipe))(recipe.k)
    over = [(*recipe.quasi, recipe.weight)]
    if recipe.strata:
        over.append((*recipe.quasi, *recipe.strata, recipe.weight))
    return [model.audit(release, names) for names in over]


def _of_persons(release: Release, recipe: Recipe, blocks: list[tuple[tuple[str, ...], Block]]) -> list[Finding]:
    """Audit what single persons hold of the classes of each block, and of those that a known stratum leaves."""
    over = [names for names, _ in blocks]
    if recipe.nested and len(blocks) == 2:
        over.append(recipe.quasi)
    if recipe.strata:
        over += [(*names, *recipe.strata) for names in over]
    return of_persons(release, recipe, over)


def _of_noise(release: Release, recipe: Recipe) -> list[Finding]:
    """Audit the noise, where the recipe has ε: what was added, against what is required."""
    from shoal.privacy.differential_privacy import DifferentialPrivacy
    from shoal.types.results.privacy_ledger import sequential

    if (recipe.epsilon is None) is not (release.ledger is None):
        raise GuaranteeError("Noise was asked for and not added, or added and not asked for. Nothing was written.")
    if recipe.epsilon is None or release.ledger is None:
        return []
    if release.ledger.claim != recipe.claim:
        raise GuaranteeError("The claim of the release is not that of the recipe. Nothing was written.")
    most = sequential(recipe.epsilon.values()) if isinstance(recipe.epsilon, Mapping) else recipe.epsilon
    readable = with_values(release, recipe.quasi)
    return [DifferentialPrivacy(most).audit(readable, recipe.quasi)]


def _refuse_digits(release: Release) -> None:
    """Refuse values with more digits than their column has, as they are written."""
    from shoal.privacy.counting.digits import too_fine

    if fine := too_fine(with_values(release, list(release.resolutions))):
        raise GuaranteeError(
            f"Released values have more digits than their resolution allows: {listing(fine)}. Nothing was written."
        )


def _refuse_split(release: Release, recipe: Recipe, blocks: list[tuple[tuple[str, ...], Block]]) -> None:
    """Refuse a release in which records that must stay together are not written the same."""
    from shoal.privacy.k_anonymity import split_subjects

    if release.subjects is None:
        raise GuaranteeError("It is not known which records must stay together. Nothing was written.")
    whole = {name for names in recipe.whole_blocks for name in names}
    for names in [names for names, _ in blocks if whole.issuperset(names)]:
        if split := split_subjects(release, names):
            raise GuaranteeError(
                f"Records of {split:,} groups of {recipe.together!r} must stay together and are in several classes "
                f"over {listing(names)}. Nothing was written."
            )


def _blocks(recipe: Recipe, partition: Partition) -> list[tuple[tuple[str, ...], Block]]:
    """Return the blocks with their attributes in the recipe's order; a quasi-identifier in no block, or two, fails."""
    order = [name for block in recipe.all_blocks for name in block]
    if sorted(order) != sorted(name for block in partition.blocks for name in block.attributes):
        raise GuaranteeError(
            "The blocks of the partition are not the quasi-identifiers, each once, so that some would not be audited. "
            "Nothing was written."
        )
    return [(tuple(name for name in order if name in block.attributes), block) for block in partition.blocks]


def _unpromised(release: Release, names: tuple[str, ...], note: str) -> Finding:
    """Report what holds of a block of which nothing is promised."""
    from shoal.privacy.k_anonymity import KAnonymity

    found = KAnonymity().audit(release, names)
    notes = ["no k-anonymity of records is promised", note, found.note]
    return replace(found, promised=False, note="; ".join(text for text in notes if text))


def _confidential(release: Release, recipe: Recipe, promised: bool) -> list[Finding]:
    """Audit confidential columns: what is required of them, and for information what else holds.

    A column that cannot be audited is refused, whether or not anything is required of it.
    """
    from shoal.privacy.t_closeness import TCloseness

    required = of_values(required_in(recipe))
    besides = reported_besides(required, recipe.confidential)
    readable = with_values(release, recipe.confidential)
    if any(one.key == "n_t_closeness" for one in required):  # quasi-identifiers are places then
        readable = with_values(readable, recipe.quasi)
    if not promised:
        required = [
            replace(one, key="t_closeness", model=TCloseness()) if one.key in _CLOSE else one for one in required
        ]
    # as for k: who knows a record's stratum learns no more
    over = [recipe.quasi, *([(*recipe.quasi, *recipe.strata)] if recipe.strata else [])]
    found = [f for names in over for f in findings_of(readable, names, required, recipe.confidential)]
    _all_looked_at(required, recipe.confidential, over, found)
    if not promised:
        found = [_not_promised(f) if f.model == "t_closeness" else f for f in found]
        besides = [one for one in besides if one.key != "t_closeness"]
    return [*found, *findings_of(readable, recipe.quasi, besides, recipe.confidential)]


def _all_looked_at(
    required: Sequence[Required],
    confidential: Sequence[str],
    over: Sequence[tuple[str, ...]],
    found: Sequence[Finding],
) -> None:
    """Fail if a model that is required has no finding of a column: what was not looked at does not hold."""
    seen = {(f.model, f.confidential, f.attributes) for f in found}
    for one in required:
        for name in one.columns or confidential:
            if any((one.key, name, names) not in seen for names in over):
                raise GuaranteeError(
                    f"{one.key} of column {name!r} was required, but the audit did not look at it. Nothing was written."
                )


def _not_promised(finding: Finding) -> Finding:
    return replace(finding, promised=False, note=f"t is not promised; {finding.note}".rstrip("; "))


def _failed(audit: Audit) -> str:
    broken = [f for f in audit.findings if not f.holds]
    sentences = [
        f"{f.subject} requires {f.levels[0]} and achieves {f.levels[1]}"
        f"{' (' + f.note + ')' if f.note and f.confidential is None else ''}"
        for f in broken
    ]
    remedies = []
    if any(dominant(f) for f in broken):
        remedies.append(" Raise k, or the share.")
    if any("counted in subjects" in f.note for f in broken):
        remedies.append(" Raise k, or keep one record of each subject.")
    if any(f.model in _CLOSE for f in broken):
        remedies.append(" Raise t.")
    if any(f.confidential is not None and f.model not in _CLOSE for f in broken):
        remedies.append(" Require less.")
    found = f"The audit of the output found less than was promised: {'; '.join(sentences)}. Nothing was written."
    return found + "".join(remedies)
