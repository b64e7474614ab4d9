"""Two tables that leave together: the gate that both must pass."""

from __future__ import annotations

from dataclasses import replace

from shoal import registry
from shoal.errors import GuaranteeError, listing
from shoal.flow.gate import one_table
from shoal.flow.gate.persons import dominant, of_persons
from shoal.flow.plan.release_traits import comparable_with_original, guarantee, in_two_tables
from shoal.flow.plan.unchanged_columns import count_unchanged
from shoal.flow.stages.values import with_values
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import named, of_confidential
from shoal.types import Audit, Finding, Partition, Release, Role


def gate(release: Release, recipe: Recipe, partition: Partition) -> Audit:
    """Audit what will leave, be it one table or two, and refuse it if what was promised does not hold."""
    if (release.apart is not None) is not in_two_tables(recipe):
        raise GuaranteeError("The release has not the tables that it must have. Nothing was written.")
    if release.apart is None:
        audit = one_table.gate(release, recipe, partition)
    else:
        audit = _gate_both(release, release.apart, recipe, partition)
    return replace(audit, unchanged=count_unchanged(release, recipe, partition))


def _gate_both(release: Release, apart: Release, recipe: Recipe, partition: Partition) -> Audit:
    """Audit two tables as they will leave, and refuse them if what was promised does not hold.

    Of the partition only one thing is believed: whether t is promised. The classes are those that are written.
    """
    link = _linked(release, apart, recipe)
    _refuse_mixed(release, apart, recipe, link)
    release = with_values(release, release.schema.names(Role.WEIGHT))
    seen = replace(release, apart=comparable_with_original(apart))
    model = registry.load("privacy", guarantee(recipe))(recipe.k)
    found: Finding = model.audit(seen, (link,))
    persons = of_persons(release, recipe, [(link,)])
    for one in (found, *persons):
        if not one.holds:
            raise GuaranteeError(
                f"The audit of the output found less than was promised: {one.subject} requires {one.levels[0]} and "
                f"achieves {one.levels[1]} ({one.note}). Nothing was written."
            )
    _refuse_crossing(release, recipe, link)
    second = one_table.gate(replace(apart, original=None), _of_second(recipe, link), _classes(partition, link))
    overall = _unpromised(release, recipe.quasi)
    rest = (f for f in second.findings if f is not second.overall and not dominant(f))  # which has no persons
    findings = (found, overall, *rest, *persons)
    return Audit(release.data.num_rows, recipe.quasi, recipe.confidential, overall, findings, link)


def _linked(release: Release, apart: Release, recipe: Recipe) -> str:
    """Return what joins both tables. Nothing else may, and the confidential columns are in the second only."""
    link = release.link
    if link is None or apart.data.column_names != [link, *_in_order(recipe, apart)]:
        raise GuaranteeError(
            "The second table must have the column of classes and the confidential ones, and no other. Nothing was "
            "written."
        )
    if shared := [n for n in release.data.column_names if n != link and n in apart.data.column_names]:
        raise GuaranteeError(f"Confidential columns are in the first table: {listing(shared)}. Nothing was written.")
    return link


def _in_order(recipe: Recipe, apart: Release) -> list[str]:
    """Return the confidential columns in the order of the table, each once; those that it lacks come last."""
    there = [name for name in apart.data.column_names if name in recipe.confidential]
    return [*there, *(name for name in recipe.confidential if name not in there)]


def _refuse_mixed(release: Release, apart: Release, recipe: Recipe, link: str) -> None:
    """Refuse identifiers in one of the tables, and a first table that lacks quasi-identifiers or what joins them."""
    names = release.data.column_names
    stray = [n for n in (*recipe.identifier, *recipe.columns(Role.SUBJECT)) if n in (*names, *apart.data.column_names)]
    if stray:
        raise GuaranteeError(f"Identifiers would have left: {listing(stray)}. Nothing was written.")
    if lacking := [n for n in (*recipe.quasi, *recipe.strata, link) if n not in names]:
        raise GuaranteeError(f"Columns are not in the output: {listing(lacking)}. Nothing was written.")


def _refuse_crossing(release: Release, recipe: Recipe, link: str) -> None:
    """Refuse classes that cross strata, or separate records that must stay together."""
    from shoal.privacy.k_anonymity import class_sizes, split_subjects

    bare = replace(release, subjects=None)
    if len(class_sizes(bare, (link, *recipe.strata))) != len(class_sizes(bare, (link,))):
        raise GuaranteeError(f"Classes cross the strata of {listing(recipe.strata)}. Nothing was written.")
    if recipe.counted is not None and release.subjects is None:
        raise GuaranteeError(f"It is not known what {recipe.counted!r} of each record was. Nothing was written.")
    if recipe.together is not None and (split := split_subjects(release, (link,))):
        raise GuaranteeError(
            f"Records of {split:,} groups of {recipe.together!r} must stay together and are in several classes. "
            f"Nothing was written."
        )


def _of_second(recipe: Recipe, link: str) -> Recipe:
    """Return what must hold of the second table by itself: what everybody can audit, over the column of classes."""
    return Recipe(
        quasi=(link,),
        confidential=recipe.confidential,
        k=recipe.k,
        t=recipe.t,
        require={name: level for name, level in recipe.require.items() if of_confidential(named()[name])},
        method=recipe.method,
        kinds=recipe.kinds,
        taxonomies=recipe.taxonomies,
        orders=recipe.orders,
    )


def _classes(partition: Partition, link: str) -> Partition:
    """Return the partition as the second table sees it: one block, of the column of classes."""
    (block,) = partition.blocks
    return Partition((replace(block, attributes=(link,), promised=True),))


def _unpromised(release: Release, names: tuple[str, ...]) -> Finding:
    """Report how many records share a combination of quasi-identifiers, which leave as they were."""
    from shoal.privacy.k_anonymity import KAnonymity

    found = KAnonymity().audit(release, names)
    notes = ["no k-anonymity of records is promised", "quasi-identifiers leave as they were", found.note]
    return replace(found, promised=False, note="; ".join(text for text in notes if text))
