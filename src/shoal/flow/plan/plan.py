"""Plan of a run: every decision and refusal before any class is formed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from shoal import secret
from shoal.errors import DataError, ParameterError, SchemaError, ShoalError, raise_together
from shoal.flow.plan.components import (
    as_requirements,
    components,
    enough_records,
    of_values,
    one_block,
    refuse_classes_of_people,
    refuse_without_k,
    required_in,
    steering_makers,
)
from shoal.flow.plan.feasibility import (
    refuse_infeasible,
    refuse_rare_profiles,
    refuse_small_strata,
    refuse_split_groups,
    refuse_ungrouped,
    refuse_varying_groups,
)
from shoal.flow.plan.release_traits import (
    chooses_by_key,
    covers_originals,
    deals_by_key,
    refuse_noise,
    refuse_what_cannot_be_released,
)
from shoal.flow.stages.summary import Summary
from shoal.recipe.attacker import replays_required
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required, by_replay, of_population, resolve
from shoal.types import Requirement, Schema, Table
from shoal.types.protocols import Partitioner, Releaser, Sink, Steering

if TYPE_CHECKING:
    from shoal.points.encoding import Encoding


T = TypeVar("T")


class TableStep(Protocol):
    """A change to the table that needs no classes, such as recoding a column or suppressing cells."""

    def apply(self, table: Table) -> Table:
        """Return the table from which classes are formed."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan for protecting a table. Engines execute it; they differ in where the blocks run, never in the result.

    Attributes
    ----------
    recipe, schema, summary
        The inputs of the plan.
    method, release, encoding
        The components that form classes, release them and make points, each with its parameters.
    steering
        The makers of artificial coordinates, each with its weight.
    requirements
        Demands on confidential values and on people's shares, as methods see them.
    repairs
        Whether classes are repaired after the method, because it does not meet all demands itself.
    merges_strata
        Whether strata of fewer than k records are merged with others.
    certify
        Whether to compute a lower bound on the loss.
    steps
        Changes to the table before classes are formed, in order: the place of recoding and suppression.
    """

    recipe: Recipe
    schema: Schema
    summary: Summary
    method: Partitioner
    release: Releaser
    encoding: Encoding
    steering: tuple[tuple[Steering, float], ...] = ()
    requirements: tuple[Requirement, ...] = ()
    repairs: bool = False
    merges_strata: bool = False
    certify: bool = False
    steps: tuple[TableStep, ...] = ()

    @property
    def missing(self) -> str:
        """How a missing quasi-identifier is encoded."""
        return "fill" if self.recipe.when_missing == "fill" else "category"

    @property
    def required(self) -> list[Required]:
        """The required models and levels, other than k."""
        return required_in(self.recipe)

    def with_keys(self, swap: bytes | None = None, choice: bytes | None = None) -> Plan:
        """Return the plan with the keys of an earlier run: for assigning values, and for choosing a partition."""
        plan = self
        if swap is not None and deals_by_key(self.recipe):
            plan = replace(plan, release=replace(plan.release, key=swap))
        if chooses_by_key(self.recipe):
            plan = replace(plan, method=replace(plan.method, key=choice or secret.fresh()))
        return plan

    @property
    def choice_key(self) -> bytes | None:
        """The key by which the method chooses a partition, if it does."""
        key: bytes | None = getattr(self.method, "key", None)
        return key


@dataclass
class _Refusals:
    """Errors that are raised together at the end."""

    found: list[ShoalError] = field(default_factory=list)

    def tried(self, check: Callable[[], T]) -> T | None:
        """Return the result of a check, or None if it refuses."""
        try:
            return check()
        except ShoalError as error:
            self.found.append(error)
            return None


def make_plan(
    recipe: Recipe, schema: Schema, summary: Summary, *, certify: bool = False, sink: type[Sink] | None = None
) -> Plan:
    """Decide how to protect a table, or refuse it with every reason at once.

    Parameters
    ----------
    recipe
        The request.
    schema
        The columns of the table.
    summary
        The facts about their values that the plan needs.
    certify
        Whether to compute a lower bound on the loss.
    sink
        The sink of the output, which may take parameters from `set`.

    Raises
    ------
    ParameterError, SchemaError, DataError
        Whichever must be corrected first, with all sentences.
    """
    from shoal.points.encoding import Encoding

    refusals = _Refusals(list(summary.faults))
    made = refusals.tried(partial(components, recipe, Encoding, sink))
    if made is None:
        raise_together(refusals.found)
    assert made is not None  # otherwise it was refused
    method, release, encoding = made
    for check in _checks(recipe, schema, summary, method, release, certify=certify):
        refusals.tried(check)
    makers = refusals.tried(partial(steering_makers, recipe.steer, type(method)))
    merges = merges_strata(recipe, method)
    unreadable = any(isinstance(error, (DataError, SchemaError)) for error in refusals.found)
    if summary.counted and not merges and not unreadable:
        refusals.tried(partial(refuse_in_strata, summary, recipe, schema, method))
    raise_together(refusals.found)
    return Plan(
        recipe,
        schema,
        summary,
        _with_enough_persons(method, recipe),
        release,
        encoding,
        makers or (),
        as_requirements(resolve("Recipe", recipe.require), recipe.confidential),
        repairs=needs_repair(recipe, method),
        merges_strata=merges,
        certify=certify,
    )


def _checks(
    recipe: Recipe, schema: Schema, summary: Summary, method: Partitioner, release: Releaser, *, certify: bool
) -> list[Callable[[], None]]:
    """Return the checks that can refuse the run before strata are final."""
    checks: list[Callable[[], None]] = [
        partial(_refuse_certificate, recipe, method, certify=certify),
        partial(enough_records, method, summary.records),
        partial(refuse_what_cannot_be_released, release, recipe, schema),
        partial(refuse_noise, recipe, type(method)),
        partial(_refuse_weights_in_blocks, recipe),
        partial(refuse_ungrouped, summary, recipe),
        partial(refuse_varying_groups, summary, recipe, schema),
    ]
    if of_values(required_in(recipe)) or replays_required(recipe):
        checks.append(partial(one_block, type(method), recipe.block_count))
    if needs_repair(recipe, method):
        checks.append(partial(refuse_without_k, type(method), ("t", "require", "subject")))
    if recipe.pseudonym is not None:
        checks.append(partial(refuse_classes_of_people, type(method)))
    asked = {"effort": recipe.refinement, "together": recipe.together, "subject_out": recipe.pseudonym}
    checks += [partial(refuse_without_k, type(method), (name,)) for name, given in asked.items() if given is not None]
    return checks


def refuse_in_strata(summary: Summary, recipe: Recipe, schema: Schema, method: Partitioner) -> None:
    """Refuse strata that are too small, split groups, or cannot hold what is required."""
    refusals = _Refusals()
    required = [one for one in required_in(recipe) if not by_replay(one.key) and not of_population(one.key)]
    refusals.tried(partial(refuse_small_strata, summary, recipe, method.k if method.promises_k else 1))
    refusals.tried(partial(refuse_split_groups, summary, recipe, schema))
    refusals.tried(partial(refuse_rare_profiles, summary, recipe, schema, method.k))
    refusals.tried(partial(refuse_infeasible, summary, recipe, schema, required))
    raise_together(refusals.found)


def merges_strata(recipe: Recipe, method: Partitioner) -> bool:
    """Tell whether strata of fewer than k records are merged with others."""
    return recipe.small_strata == "merge" and method.promises_k


def needs_repair(recipe: Recipe, method: Partitioner) -> bool:
    """Tell whether the recipe demands more than the method guarantees."""
    counting = recipe.subject is not None or bool(recipe.household_level)
    asked = any(not of_population(one.key) for one in resolve("Recipe", recipe.require))
    more = asked or (counting and method.promises_k)
    return more or (recipe.t is not None and not method.promises_t)


def _with_enough_persons(method: Partitioner, recipe: Recipe) -> Partitioner:
    """Return a method whose classes hold enough people for a bound on their shares."""
    from shoal.kernels.models.rule_tables import least_persons

    bounds = [one for one in as_requirements(resolve("Recipe", recipe.require), ()) if not one.attribute]
    least = max(map(least_persons, bounds), default=0)
    return replace(method, k=least) if method.promises_k and least > method.k else method


def _refuse_certificate(recipe: Recipe, method: Partitioner, *, certify: bool) -> None:
    """Refuse to certify a method without k, and a run in which the bound would reveal data."""
    if certify and not method.promises_k:
        raise ParameterError(
            f"{type(method).__name__}: nothing can be certified, because this method forms no classes of at least k "
            "records. Leave out --certify, or choose another method."
        )
    if certify and covers_originals(recipe):
        raise ParameterError(
            "Laplace: with claim = original certify is not possible, because the bound depends on the data. Leave it "
            "out."
        )


def _refuse_weights_in_blocks(recipe: Recipe) -> None:
    """Refuse weights that would weight the means of several blocks."""
    if recipe.block_count > 1 and not recipe.nested:
        refuse_weighted_blocks(recipe)


def refuse_weighted_blocks(recipe: Recipe) -> None:
    """Refuse weighted means if a record is in a class of each of several blocks."""
    if recipe.weight is not None and recipe.release_weight != "record":
        raise ParameterError(
            f"Recipe: release_weight must be 'record' where quasi-identifiers are partitioned in several blocks, got "
            f"{recipe.release_weight!r}: a record is in a class of each block, and means weighted by its weight would "
            f"give values away. Set release_weight = record, or make the weight an identifier."
        )
