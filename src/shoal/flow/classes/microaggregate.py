"""Points → Partition, for callers with their own points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal import registry
from shoal.errors import DataError, ParameterError, data_rows, raise_all
from shoal.flow.classes.improve import Canonical, improved, unites
from shoal.flow.classes.steering import ArrayColumns, given_tables, needs_confidential, steering_of
from shoal.flow.plan.components import about_confidential, as_promised, as_requirements, enough_records
from shoal.flow.stages.encode import confidential_arrays
from shoal.parameters import build, declarations, shown, unknown
from shoal.recipe.fields import ATTACKERS, EFFORTS
from shoal.recipe.requirements import of_confidential, resolve
from shoal.types import Certificate, Confidential, Partition, Points, Requirement
from shoal.types.protocols import Partitioner


def microaggregate_points(
    X: ArrayLike,
    k: int,
    method: str,
    confidential: ArrayLike | None,
    seed: int,
    effort: str | None,
    steer: Sequence[Mapping[str, Any] | tuple[ArrayLike, float]],
    require: Mapping[str, Any],
    params: Mapping[str, Any],
    attacker: str = "algorithm",
) -> Partition:
    """Partition bare points by a registered method."""
    if method not in registry.keys("partition"):
        raise ParameterError(unknown("microaggregate", "method", method, registry.keys("partition")))
    cls = registry.load("partition", method)
    given: dict[str, Any] = {**params, "k": int(k) if isinstance(k, Integral) and not isinstance(k, bool) else k}
    tables, arrays = given_tables(steer)
    looks = cls.promises_t or bool(cls.promises)
    if confidential is not None and not (looks or require or needs_confidential(tables)):
        raise ParameterError(
            f"{cls.__name__}: takes no confidential attribute, got one. Leave it out, require a model of it "
            "(require={…}), or choose another method."
        )
    if not isinstance(seed, Integral) or seed < 0:
        raise ParameterError(f"microaggregate: seed must be an integer ≥ 0, got {shown(seed)}.")
    if effort not in (None, *EFFORTS):
        raise ParameterError(unknown("microaggregate", "effort", effort, EFFORTS))
    if cls.searches and effort is not None:
        given["effort"], effort = effort, None
    if attacker not in ATTACKERS:
        raise ParameterError(unknown("microaggregate", "attacker", attacker, ATTACKERS))
    if any(declared.name == "attacker" for declared in declarations(cls)):
        given["attacker"] = attacker
    partitioner = build(cls, given)
    _refuse_two_levels(cls, given, require)
    coordinates = _coordinates("microaggregate", X)
    enough_records(partitioner, len(coordinates))
    inside = () if confidential is None else confidential_arrays(confidential, len(coordinates))
    points = Points(coordinates, confidential=inside, required=_required(require, inside))
    t = given.get("t") if cls.promises_t else None
    steering = steering_of(tables, partitioner, points, ArrayColumns(arrays, len(points)))
    whole = improved(partitioner, t, effort, attacker, more=bool(points.required))
    by_value = attacker == "algorithm" and bool(inside) and unites(cls)
    if by_value:
        whole = Canonical(whole, by_person=True)
    found = whole.partition(steering.onto(points), np.random.default_rng(int(seed)))
    if by_value:  # number classes by their first rows, as methods themselves do
        from shoal.kernels.refine.class_state import numbered

        found = replace(found, blocks=tuple(replace(one, labels=numbered(one.labels)) for one in found.blocks))
    return as_promised(steering.without(found, points), partitioner)


def _refuse_two_levels(cls: type[Partitioner], given: Mapping[str, Any], require: Mapping[str, Any]) -> None:
    """Refuse a level that is both a method argument and a requirement, with different values."""
    promised = (*cls.promises, *(("t_closeness",) if cls.promises_t else ()))
    raise_all(
        ParameterError,
        [
            f"microaggregate: {name} is set to {shown(given[name])} and required at {shown(level)}. Set it once: give "
            f"the {name} that you want, and leave it out of require."
            for one in resolve("microaggregate", require)
            if one.key in promised
            for name, level in one.levels
            if name in given and given[name] != level
        ],
    )


def _required(require: Mapping[str, Any], inside: tuple[Confidential, ...]) -> tuple[Requirement, ...]:
    """Return the requirements on bare confidential attributes, which are identified by number."""
    names = [attribute.name for attribute in inside]
    required = resolve("microaggregate", require)
    about_confidential("microaggregate", required, names)
    for one in required:
        if not of_confidential(one.key):
            raise ParameterError(f"microaggregate: {one.key} cannot be required here, k is an argument. Leave it out.")
    return as_requirements(required, names)


def bound_points(X: ArrayLike, k: int, labels: ArrayLike | None) -> Certificate:
    """Bound the SSE of bare points from below; `labels` is a partition to compare with."""
    from shoal.flow.classes.improve import certify

    if not isinstance(k, Integral) or isinstance(k, bool) or k < 2:
        raise ParameterError(f"lower_bound: k must be an integer ≥ 2, got {shown(k)}.")
    points = Points(_coordinates("lower_bound", X))
    if len(points) < k:
        raise DataError(
            f"lower_bound: k must be at most the number of records, got k = {k:,} and {len(points):,} points. Lower k."
        )
    if labels is None:
        return certify([points], None, None, int(k))
    numbers = np.asarray(labels)
    if numbers.shape != (len(points),) or numbers.dtype.kind not in "iu":
        raise DataError(
            f"lower_bound: labels must be one integer for each of the {len(points):,} points, "
            f"got {numbers.dtype} of shape {numbers.shape}. Give the labels of a partition."
        )
    compact, sizes = np.unique(numbers, return_inverse=True, return_counts=True)[1:]
    if sizes.min() < k:
        raise DataError(
            f"lower_bound: every class must have at least k = {int(k)} records; "
            f"{int((sizes < k).sum()):,} of {len(sizes):,} have fewer. Lower k."
        )
    return certify([points], [compact.astype(np.int64)], None, int(k))


def _coordinates(owner: str, X: ArrayLike) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(X) or np.ma.is_masked(X):
            raise DataError(f"{owner}: X must hold real numbers, none of them masked. Encode them first.")
        array = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{owner}: X must be an array of numbers. Encode other values first.") from None
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"{owner}: X must have the shape (n, d) with d ≥ 1, got {array.shape}. Reshape it.")
    odd = np.flatnonzero(~np.isfinite(array).all(axis=1)).tolist()
    if odd:
        raise DataError(
            f"{owner}: X must be finite; {len(odd):,} of {len(array):,} rows hold a NaN or an infinity: "
            f"{data_rows(odd)}. Fill or remove these rows."
        )
    return np.ascontiguousarray(array)
