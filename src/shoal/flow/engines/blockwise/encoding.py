"""Encoding of a table that is read in parts: fitted in passes over its stored columns, applied to any part of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.flow.engines.blockwise.columns import QuasiColumn, categories_as_dictionaries
from shoal.flow.engines.blockwise.facts import Facts
from shoal.flow.engines.blockwise.scaling import Over, Skeleton, scalings_for
from shoal.flow.plan.plan import Plan
from shoal.points.template import Template
from shoal.types import Coded, Resolution


@dataclass(eq=False)
class Encoded:
    """How records are encoded, for classes and for their loss."""

    columns: list[QuasiColumn]
    skeleton: Skeleton
    template: Template
    standard: Template
    resolutions: dict[str, Resolution]

    def points(self, stored: pa.Table) -> NDArray[np.float64] | Coded:
        """Return stored records as points."""
        return self.template.points(categories_as_dictionaries(self.columns, stored))

    def like(self) -> NDArray[np.float64] | Coded:
        """Return the skeleton as points: a few records with all columns."""
        return self.points(skeleton_rows(self))


def encoding_of(plan: Plan, found: Facts, over: Over) -> Encoded:
    """Fit the encoding: two passes for means and deviations, which also scale the loss."""
    recipe, columns = plan.recipe, found.columns
    skeleton = Skeleton.of(columns, found.missing)
    standard = scalings_for("standard", skeleton, columns, over)
    scale = plan.encoding.scale_for(skeleton.attributes)
    as_measured = scale == "standard" and not recipe.coordinates
    scalings = standard if as_measured else scalings_for(scale, skeleton, columns, over, recipe.coordinates)
    resolutions: dict[str, Resolution] = {}
    if not recipe.exact_means:
        for column, attribute in zip(columns, skeleton.attributes, strict=True):
            resolutions[column.name] = column.resolution(recipe.resolution.get(column.name), attribute)
    template = Template.of(skeleton.attributes, scalings, recipe.attribute_weights)
    return Encoded(columns, skeleton, template, Template.of(skeleton.attributes, standard), resolutions)


def skeleton_rows(encoded: Encoded) -> pa.Table:
    """Return the skeleton as stored columns."""
    data = encoded.skeleton.table.data
    stored = {
        one.name: pa.array([None if v is None else one.codes[v] for v in data.column(one.name).to_pylist()], pa.int32())
        if one.categorical
        else data.column(one.name)
        for one in encoded.columns
    }
    return pa.table(stored)
