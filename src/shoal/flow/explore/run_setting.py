"""Candidate → Setting: protect, audit and measure a table or a sample, with the code of `protect` and `compare`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ParameterError, SchemaError, ShoalError, raise_all, rows_kept
from shoal.flow.explore.grid import Candidate
from shoal.flow.gate.gate import gate
from shoal.flow.plan.declared_output import completed, declared_schema
from shoal.flow.plan.promise import promise_of
from shoal.flow.protect.anonymise import anonymise, plan_for
from shoal.flow.stages.encode import encode
from shoal.flow.stages.measure import measures, read_measures
from shoal.flow.stages.values import only_rows, strata_of, subjects_of
from shoal.parameters import unknown
from shoal.recipe.attacker import withstood
from shoal.recipe.recipe import Recipe
from shoal.types import Explored, Partition, Points, Reading, Role, Setting, Table

_READ = ("il_sse", "il", "dld", "id", "dr", "score")  # of every setting, in addition to the two that are compared
KEY = bytes(32)  # nothing is released here, and equal settings must give equal figures


@dataclass(frozen=True, eq=False)
class Result:
    """The results of a setting that ran."""

    k: int  #: over all quasi-identifiers, as audited; with noise, the size of the smallest class of any block
    classes: int
    weaker: str  #: how the promise falls short of k, and of t where requested, over all quasi-identifiers
    loss: float
    risk: float = math.nan
    noise: float = math.nan  #: its part of the loss, where noise is weighed
    readings: tuple[Reading, ...] = ()
    attacker: str = ""  #: the attacker that k withstands, by the audit: ``algorithm`` or ``table``
    figures: Mapping[str, float] = field(default_factory=dict)  #: more readings, by name


@dataclass(frozen=True, eq=False)
class Bench:
    """The table that every setting is tried on."""

    table: Table
    rows: NDArray[np.int64] | None  #: rows of these records in the user's table; None: all

    def points(self, recipe: Recipe) -> Points:
        """Return the records as points; refuse once what cannot be encoded."""
        from shoal.points.encoding import Encoding

        missing = "fill" if recipe.when_missing == "fill" else "category"
        with rows_kept(self.rows):
            _, attributes = encode(self.table, self.table.schema.names(Role.QUASI), missing=missing)
            return Encoding().encode(attributes, recipe.attribute_weights, recipe.coordinates)


@dataclass(frozen=True, eq=False)
class Strategy:
    """Strategy for comparing settings: by loss and risk, or by their expected loss with noise.

    Attributes
    ----------
    candidates
        Returns the settings to try, given the number of coordinates of a point.
    tried
        Tries one of them.
    marked
        Marks the frontier among the settings.
    recommended
        Returns the recommended setting, or None; the reason; and the rule.
    notes
        Yields notes on the result, given the number of complete records and the readings of the recommended setting.
    risk
        The measure of risk; "" if none is measured.
    said
        Further fields of the result.
    prepared
        Computes what all settings share, before any is tried.
    described
        Returns further fields of the result, once settings were tried.
    extra
        Estimates the seconds that a setting takes in addition, given the number of records.
    """

    candidates: Callable[[Table, int], list[Candidate]]
    tried: Callable[[Bench, Recipe], Result]
    marked: Callable[[Sequence[Setting]], tuple[Setting, ...]]
    recommended: Callable[[Sequence[Setting]], tuple[Setting | None, str, str]]
    notes: Callable[[Explored, int, tuple[Reading, ...]], Iterator[str]]
    risk: str = ""
    said: Mapping[str, Any] = field(default_factory=dict)
    prepared: Callable[[Bench], object] = lambda bench: None
    described: Callable[[], Mapping[str, Any]] = dict
    extra: Callable[[int], float] = lambda n: 0.0


def of_records(found: Explored, complete: int, sampled: str) -> Iterator[str]:
    """Report how many of the `complete` records, which lack no quasi-identifier, were looked at, and what follows."""
    if complete < found.whole:
        yield (f"{found.whole - complete:,} records lack a quasi-identifier and are left out, as the recipe says.")
    if found.records < complete:
        yield (
            f"The figures are from a random sample of {found.records:,} of {complete:,} records. In the whole table "
            f"neighbours are nearer: {sampled} The recipe is for the whole table."
        )


def setting_of(
    candidate: Candidate,
    seconds: float,
    result: Result | ShoalError | None,
    demanded: Mapping[str, float],
    *,
    begun: bool = False,
) -> Setting:
    """Describe a setting: one that ran, one that could not, one that did not finish, or one that was skipped."""
    one = replace(candidate.setting, seconds=seconds, attacker=withstood(candidate.recipe) if candidate.recipe else "")
    if result is None:
        return replace(one, state="not finished") if begun else one
    if isinstance(result, ShoalError):
        return replace(one, state="failed", note=str(result))
    ran = replace(
        one,
        state="ran",
        loss=result.loss,
        risk=result.risk,
        noise=result.noise,
        readings={**{reading.name: reading.value for reading in result.readings}, **result.figures},
        k=result.k,
        classes=result.classes,
        keeps=not result.weaker,
        attacker=result.attacker,
    )
    if "epsilon" in candidate.values:  # noise protects too: only a demanded k makes a weaker promise too weak
        return replace(ran, note=result.weaker, meets=one.meets and not ("k" in demanded and result.weaker))
    return replace(ran, note="; ".join(filter(None, (candidate.shortfall, result.weaker))))


def protected(bench: Bench, recipe: Recipe, loss: str, risk: str) -> Result:
    """Protect the table by a setting, audit and measure it."""
    with rows_kept(bench.rows):
        exact = replace(recipe, exact_means=True, resolution={})  # settings are compared by their partition
        made = anonymise(plan_for(bench.table, exact).with_keys(KEY, KEY), bench.table)
        audit = gate(made.release, promise_of(recipe, made.partition))
    readings = read_measures(made.comparison, measures(only=(*_READ, loss, risk))).readings
    values = {reading.name: reading.value for reading in readings}
    knows = "" if audit.attacker is None else audit.attacker.knows
    return Result(
        int(audit.overall.achieved),
        audit.overall.classes,
        weaker(recipe, made.partition),
        values[loss],
        values[risk],
        readings=readings,
        attacker=knows,
    )


def weaker(recipe: Recipe, partition: Partition) -> str:
    """Return in words what a partition promises less than the recipe asks for; empty if nothing."""
    if not all(block.promised for block in partition.blocks):
        return "no k of records is promised"
    if len(partition.blocks) > recipe.block_count:
        return "k is promised of each block of attributes, not over all of them"
    if recipe.t is not None and not all(block.promised_t for block in partition.blocks):
        return "t is not promised"
    return ""


def sampled(table: Table, rows: NDArray[np.int64] | None, most: int, seed: int, least: int) -> NDArray[np.int64] | None:
    """Draw about `most` of some records at random; return all of them if there are no more.

    Either all records of a subject (or household) are drawn, or none. Every stratum contributes the same share of its
    records, but at least enough to form classes.

    Parameters
    ----------
    table, rows
        The records to draw from; None: all.
    most
        How many records to draw.
    seed
        Random seed.
    least
        Records to draw from each stratum at least, if it has them.

    Returns
    -------
    array or None
        Positions in the table, in order; None: all.
    """
    n = len(table) if rows is None else len(rows)
    if n <= most:
        return rows
    inside = only_rows(table, rows)
    units, strata = subjects_of(inside), strata_of(inside)
    units = np.arange(n) if units is None else np.unique(units, return_inverse=True)[1].reshape(-1)
    strata = np.zeros(n, np.int64) if strata is None else strata
    sizes = np.bincount(units)
    own = np.empty(len(sizes), np.int64)
    own[units[::-1]] = strata[::-1]  # the stratum of a unit's first record
    order = np.random.default_rng(seed).permutation(len(sizes))
    taken = np.zeros(len(sizes), np.bool_)
    for stratum in np.unique(own):
        inner = order[own[order] == stratum]
        before = np.cumsum(sizes[inner]) - sizes[inner]
        total = int(sizes[inner].sum())
        taken[inner] = before < max(total * most / n, least)
    chosen = np.flatnonzero(taken[units])
    return chosen if rows is None else rows[chosen]


def stand_ins(records: int, names: Sequence[str], recipe: Recipe) -> Table:
    """Return a table of `records` records, each quasi-identifier uniform within its bounds or over its taxonomy.

    Only the number of records and the column names come from the data; both are public. Other columns are omitted.

    >>> recipe = Recipe(quasi=["age"], release="laplace", epsilon=1.0, claim="original", bounds={"age": [0, 9]})
    >>> stand_ins(3, ["age", "name"], recipe).data.column("age").to_numpy().round(2).tolist()
    [5.73, 2.43, 0.37]
    """
    if isinstance(recipe.bounds, str):
        raise ParameterError(
            "Explore: with claim = original bounds must be numbers, because no cell may be read, and bounds from the "
            "data would read all of them. Give the ends of each domain as known without the data."
        )
    said = {**recipe.roles, **recipe.kinds, **recipe.taxonomies}
    raise_all(SchemaError, [unknown("Schema", "column", name, names) for name in said if name not in names])
    schema, rng = declared_schema(completed(recipe)), np.random.default_rng(recipe.seed)
    made = {}
    for column in schema.columns:
        if column.taxonomy is not None:
            made[column.name] = pa.array(rng.choice(sorted(column.taxonomy.paths), records), pa.string())
        else:
            low, high = recipe.bounds.get(column.name, (0.0, 1.0))  # missing bounds are refused later
            made[column.name] = pa.array(rng.uniform(float(low), float(high), records))
    return Table(pa.table(made), schema)
