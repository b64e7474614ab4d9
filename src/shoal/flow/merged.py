"""What is still promised of strata that were merged, and how the gate sees to it that no more is given up."""

from __future__ import annotations

from dataclasses import replace

from shoal.errors import GuaranteeError
from shoal.flow.strata import with_strata
from shoal.recipe import Recipe
from shoal.types import Finding, Partition, Release


def joined_strata(release: Release, recipe: Recipe, partition: Partition) -> tuple[Release, str]:
    """Return the release with its strata as they were merged, and that in words; as it is, if none was.

    The partition is believed in one thing only: which strata were merged. As the table is written, each must be merged
    as a whole, and none without need: several are merged only if one of them holds fewer than k. Otherwise nothing
    leaves.
    """
    import numpy as np

    from shoal.privacy._classes import classes_of
    from shoal.privacy.k_anonymity import class_sizes

    if partition.strata is None:
        return release, ""
    classes = classes_of(release, recipe.strata)
    if recipe.small_strata != "merge" or len(partition.strata) != release.data.num_rows:
        raise GuaranteeError("Strata were merged that must not be. Nothing was written.")
    groups = partition.strata[classes.rows]
    first = groups[classes.begins]
    if not np.array_equal(np.repeat(first, classes.sizes), groups):
        raise GuaranteeError("A stratum was merged in part only. Nothing was written.")
    sizes = class_sizes(release, recipe.strata)[classes.numbers()]
    held = np.bincount(first)
    least = np.full(len(held), np.iinfo(np.int64).max)
    np.minimum.at(least, first, sizes)
    if ((held > 1) & (least >= recipe.k)).any():
        raise GuaranteeError("Strata were merged that hold enough records each. Nothing was written.")
    several = int(held[held > 1].sum())
    note = (
        f"{several:,} of {len(first):,} strata were merged, and count as {int((held > 1).sum()):,}" if several else ""
    )
    return replace(release, data=with_strata(release.data, recipe.strata, partition.strata)), note


def noted(finding: Finding, note: str) -> Finding:
    """Return a finding that also says what was merged."""
    return replace(finding, note="; ".join(text for text in (finding.note, note) if text))
