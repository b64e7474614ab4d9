"""Stream recipe: the frozen description of a stream, derived facts, and its fingerprint.

`StreamArguments` types the fields as arguments, where a list serves as well as a tuple. Type checkers and editors read
it; a test compares it with the declarations in `fields.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

from shoal.parameters import declarations
from shoal.recipe.recipe import Names, Table
from shoal.recipe.settings import Rule, digest, documented
from shoal.stream.recipe import rules as domains
from shoal.stream.recipe.fields import StreamFields
from shoal.stream.recipe.rules import RULES
from shoal.types import Kind, Taxonomy
from shoal.types.stream import Known

KEEP = "keep"
_CORRECTABLE = ("keep", "unknown", "max_rejected")  # no released class depends on them


@documented
class StreamRecipe(StreamFields):
    """The settings of a stream. Nothing is learnt from the tuples: all domains are declared in advance.

    >>> recipe = StreamRecipe(quasi=["age"], bounds={"age": (0, 120)}, k=10, delay=100)
    >>> StreamRecipe.from_toml(recipe.to_toml()) == recipe
    True
    >>> StreamRecipe(quasi=["age"], bounds={"age": (0, 120)}, k=10, delay=3)
    Traceback (most recent call last):
    shoal.errors.ParameterError: StreamRecipe: delay must be at least k − 1 = 9, got 3. Raise delay, or lower k.
    """

    schema_file: ClassVar[str] = "shoal-stream-recipe.schema.json"

    noun: ClassVar[str] = "field"
    rules: ClassVar[tuple[tuple[Rule, ...], ...]] = RULES

    if TYPE_CHECKING:

        def __init__(self, **fields: Unpack[StreamArguments]) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bounds", {name: tuple(ends) for name, ends in self.bounds.items()})
        object.__setattr__(self, "kinds", {name: Kind(kind) for name, kind in self.kinds.items()})
        assert self._trees.keys() == self.taxonomies.keys()  # reads them, and refuses unreadable ones

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """The declaration of each quasi-identifier."""
        return tuple(self.known_of(name) for name in self.quasi)

    @cached_property
    def _trees(self) -> dict[str, Taxonomy]:
        from shoal.schema.taxonomy_files import taxonomy_of

        return {name: taxonomy_of(name, given) for name, given in self.taxonomies.items()}

    def known_of(self, name: str) -> Known:
        """Return the declaration of a field."""
        low, high = self.bounds.get(name, (None, None))
        taxonomy = self._trees.get(name)
        categories = tuple(self.orders.get(name, self.categories.get(name, ())))
        kind = domains.kind_of(self, name)
        usual = 1 if kind is Kind.INTEGER and not self.exact_means else None
        return Known(name, kind, low, high, categories, taxonomy, self.resolution.get(name, usual))

    def weight(self, name: str) -> float:
        """Return the weight of squared distances in a quasi-identifier."""
        return float(self.attribute_weights.get(name, 1.0))

    @cached_property
    def removed(self) -> tuple[str, ...]:
        """The fields that are removed."""
        return (*self.identifier, *((self.subject,) if self.subject is not None else ()))

    @cached_property
    def declared(self) -> tuple[str, ...]:
        """The fields that have a role or are kept."""
        return tuple(dict.fromkeys((*self.wanted, *self.identifier, *(self.keep or ()))))

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The declared fields that are released unchanged, whatever they hold."""
        return tuple(dict.fromkeys((*self.confidential, *(self.keep or ()))))

    @cached_property
    def wanted(self) -> tuple[str, ...]:
        """The fields that a tuple must have."""
        subject = (self.subject,) if self.subject is not None else ()
        return tuple(dict.fromkeys((*self.quasi, *subject, *self.confidential)))

    @property
    def stored(self) -> dict[str, Any]:
        """The whole recipe in plain values, stored with a stream so that its guarantee cannot change unnoticed."""
        said = self.to_dict()
        if self.taxonomies:  # the contents of the files count, not their location
            said["taxonomies"] = {
                n: {leaf: list(path) for leaf, path in t.paths.items()} for n, t in self._trees.items()
            }
        return said

    def changed(self, stored: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the fields in which this recipe differs from a stored one."""
        mine = self.stored
        return tuple(f.name for f in declarations(type(self)) if mine.get(f.name) != stored.get(f.name))

    @property
    def promised(self) -> dict[str, Any]:
        """The fields that must stay the same when a stream is resumed: all that classes depend on."""
        return {name: value for name, value in self.stored.items() if name not in _CORRECTABLE}

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the promised fields: equal for equal guarantees, however they are written."""
        return digest(self.promised)


class _Optional(TypedDict, total=False):
    version: int
    bounds: Mapping[str, Sequence[Any]]
    delay_seconds: float | None
    order_weight: float | str
    subject: str | None
    subject_exact: bool
    identifier: Names
    confidential: Names
    kinds: Table
    orders: Mapping[str, Sequence[Any]]
    categories: Mapping[str, Sequence[Any]]
    taxonomies: Mapping[str, Mapping[str, Any] | str]
    attribute_weights: Mapping[str, float]
    resolution: Mapping[str, float | str]
    exact_means: bool
    round_integers: bool | None
    method: str
    set: Table
    require: Table
    t: float | None
    reference: Table
    class_field: str
    when_missing: str
    keep: Names | None
    unknown: str
    max_rejected: float


class StreamArguments(_Optional):
    """Arguments of :class:`shoal.StreamRecipe`."""

    quasi: Names
    k: int
    delay: int
