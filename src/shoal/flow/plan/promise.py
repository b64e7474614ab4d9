"""Promise of a release: everything that its audit must find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shoal.errors import GuaranteeError
from shoal.flow.plan.release_traits import GROUPING, guarantee, in_two_tables
from shoal.flow.plan.required_models import of_persons_in, of_values, required_in
from shoal.recipe.recipe import Recipe
from shoal.recipe.requirements import Required
from shoal.types import Block, Partition, Role
from shoal.types.results.privacy_ledger import sequential


@dataclass(frozen=True, eq=False)
class Promise:
    """What the audit must find in a release, derived from the recipe; only the blocks come from the partition.

    Attributes
    ----------
    quasi, confidential, strata
        The columns of these roles.
    removed
        Columns that must not be in the output.
    k, model
        The level k, and the key of the model that promises it.
    required
        Models of confidential values at their levels, t-closeness among them.
    persons
        Models about single people: at their levels, or for information.
    blocks
        Sets of attributes with joint k-anonymity, in the recipe's order; each quasi-identifier is in one block.
    nested
        Whether the classes of the second block lie within those of the first.
    counted
        The column whose values k counts; None: records.
    together, whole
        The column of groups that are never split, and the quasi-identifiers in which their records must be equal.
    weight, weights_of_classes
        The weight column, and whether its class mean is released in its place.
    hidden_figures
        Whether people's shares depend on weights or subjects that are not released.
    epsilon, claim
        The largest ε that noise may spend, and for which records; None: no noise is promised.
    two_tables
        Whether confidential columns are released in a second table.
    seeded
        Whether values were assigned by a public seed, so that nothing is promised for them.
    reviewed
        Columns released unchanged that a person has reviewed.
    """

    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    k: int
    blocks: tuple[Block, ...]
    strata: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    model: str = GROUPING
    required: tuple[Required, ...] = ()
    persons: tuple[Required, ...] = ()
    nested: bool = False
    counted: str | None = None
    together: str | None = None
    whole: frozenset[str] = frozenset()
    weight: str | None = None
    weights_of_classes: bool = False
    hidden_figures: bool = False
    epsilon: float | None = None
    claim: str | None = None
    two_tables: bool = False
    seeded: bool = False
    reviewed: tuple[str, ...] = ()

    @property
    def visible_classes(self) -> bool:
        """Whether records of a class are equal in their quasi-identifiers."""
        return self.model == GROUPING

    @property
    def promises_t(self) -> bool:
        """Whether every block promises t-closeness where t is required."""
        return all(block.promised_t for block in self.blocks)

    def of_second_table(self, link: str) -> Promise:
        """Return the promise for the table of confidential columns: what anyone can audit, over the classes."""
        (block,) = self.blocks
        return Promise(
            (link,),
            self.confidential,
            self.k,
            (replace(block, attributes=(link,), promised=True),),
            required=self.required,
        )


def promise_of(recipe: Recipe, partition: Partition) -> Promise:
    """Return the promise of a recipe after its classes are formed.

    Raises
    ------
    GuaranteeError
        If the blocks of the partition are not the quasi-identifiers, each once: some would not be audited.
    """
    epsilon = recipe.epsilon
    removed = (*recipe.identifier, *recipe.columns(Role.SUBJECT))
    return Promise(
        recipe.quasi,
        recipe.confidential,
        recipe.k,
        _blocks(recipe, partition),
        recipe.strata,
        removed=(*removed, *(recipe.columns(Role.WEIGHT) if recipe.release_weight == "none" else ())),
        model=guarantee(recipe),
        required=tuple(of_values(required_in(recipe))),
        persons=tuple(one for one in of_persons_in(recipe) if epsilon is None or one.is_required),
        nested=recipe.nested,
        counted=recipe.counted,
        together=recipe.together,
        whole=frozenset(name for block in recipe.whole_blocks for name in block),
        weight=recipe.weight,
        weights_of_classes=recipe.release_weight == "class",
        hidden_figures=hides_figures(recipe),
        epsilon=sequential(epsilon.values()) if isinstance(epsilon, Mapping) else epsilon,
        claim=recipe.claim,
        two_tables=in_two_tables(recipe),
        seeded=recipe.set.get("not_private_seed") is not None,
        reviewed=recipe.reviewed,
    )


def hides_figures(recipe: Recipe) -> bool:
    """Tell whether people's shares depend on unreleased data: subjects or original weights."""
    return recipe.counted is not None or (recipe.weight is not None and recipe.release_weight != "record")


def _blocks(recipe: Recipe, partition: Partition) -> tuple[Block, ...]:
    """Return the blocks with attributes in the recipe's order; fail on a quasi-identifier in no block or two."""
    order = [name for block in recipe.all_blocks for name in block]
    if sorted(order) != sorted(name for block in partition.blocks for name in block.attributes):
        raise GuaranteeError(
            "The blocks of the partition are not the quasi-identifiers, each once, so that some would not be audited. "
            "Nothing was written."
        )
    return tuple(
        replace(block, attributes=tuple(name for name in order if name in block.attributes))
        for block in partition.blocks
    )
