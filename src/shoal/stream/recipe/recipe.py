"""The frozen description of a stream: what its fields are for, and in which domains they lie; fingerprint."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, raise_all
from shoal.parameters import unknown as unknown_name
from shoal.stream.recipe import checks, domains
from shoal.types import Kind, Taxonomy
from shoal.types.stream import Known

_LISTS = ("quasi", "identifier", "confidential")
_TABLES = (
    "bounds", "kinds", "orders", "categories", "taxonomies", "attribute_weights", "set", "require", "reference",
    "resolution",
)  # fmt: skip
KEEP = "keep"
_CORRECTABLE = ("keep", "unknown", "max_rejected")  # no class that was released depends on them


@dataclass(frozen=True, kw_only=True)
class StreamRecipe:
    """What to do with a stream. Nothing is learnt from the tuples: all domains are said before.

    >>> recipe = StreamRecipe(quasi=["age"], bounds={"age": (0, 120)}, k=10, delay=100)
    >>> StreamRecipe.from_toml(recipe.to_toml()) == recipe
    True
    >>> StreamRecipe(quasi=["age"], bounds={"age": (0, 120)}, k=10, delay=3)
    Traceback (most recent call last):
    shoal.errors.ParameterError: StreamRecipe: delay must be at least k − 1 = 9, got 3. Raise delay, or lower k.

    Attributes
    ----------
    quasi
        Quasi-identifiers: what an intruder may know from elsewhere.
    bounds
        For each quasi-identifier of numbers or moments the two ends of its domain. Values outside are moved to them.
    k
        Fewest subjects in a class.
    delay
        Largest delay δ: when the tuple of position i comes, that of position i − δ leaves at the latest.
    delay_seconds
        A tuple that waited so long leaves although no other comes. None: it waits.
    order_weight
        Weight ω of the position in the stream; ``keep`` takes the least one with which nothing is reordered.
    subject
        The field that says whom a tuple is about; it does not leave. None: each is about another subject.
    subject_exact
        Every spelling of a subject is another one. False: Ann, ANN and " ann" are one, and so are 7, 7.0 and 007.
    identifier, confidential
        Fields that do not leave; fields that nobody may learn of anybody.
    kinds
        Kinds of quasi-identifiers, and of confidential fields; without, a field with bounds is continuous (or
        datetime, if these are moments), one with an order is ordinal, and one with categories or a taxonomy nominal.
    orders, categories, taxonomies
        For a field its categories from the lowest to the highest; its categories; or these in groups, as in a recipe.
    attribute_weights
        How much squared distances in a quasi-identifier count; 1 where nothing is said.
    resolution
        For a quasi-identifier, the step that its released values are multiples of: a number (``{"income": 100}``), or
        for dates a unit (``{"birth": "month"}``). Without: integers stay integers, dates and times are as fine as their
        bounds, and other numbers have all the digits of their means.
    exact_means
        Release the means of integers with all their digits, as floats. They give away sums over members of a class.
    round_integers
        True says what holds anyway: integers stay integers.
    method, set
        How classes form, a registry key, and the parameters of the method by name.
    require, t, reference
        What else every class must hold of confidential fields: privacy models by name with their levels; how far it may
        be from what came so far; and what it must be close to instead, by field.
    class_field
        The field in which a tuple carries the number of its class.
    when_missing
        What a tuple is that lacks a quasi-identifier: ``refuse``, a bad record.
    keep
        Fields that are released unchanged. None: those of the first tuples, up to the first class. Confidential fields
        need not be named. In JSON, ``user.id`` is the field ``id`` of the object ``user``, here and in every other
        list of fields, unless there is a field of exactly this name.
    unknown
        What happens to a field that has no role and is not in `keep`: ``reject`` rejects its record, ``remove`` removes
        the field, ``keep`` releases it. Objects and lists are unknown unless they are named.
    max_rejected
        Largest share of rejected records, of every 1,000 and at the end; with more the stream stops.
    """

    quasi: tuple[str, ...]
    bounds: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    k: int
    delay: int
    delay_seconds: float | None = None
    order_weight: float | str = 0.0
    subject: str | None = None
    subject_exact: bool = False
    identifier: tuple[str, ...] = ()
    confidential: tuple[str, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    orders: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    taxonomies: Mapping[str, Mapping[str, Any] | str] = field(default_factory=dict)
    attribute_weights: Mapping[str, float] = field(default_factory=dict)
    resolution: Mapping[str, float | str] = field(default_factory=dict)
    exact_means: bool = False
    round_integers: bool | None = None
    method: str = "nearest"
    set: Mapping[str, Any] = field(default_factory=dict)
    require: Mapping[str, Any] = field(default_factory=dict)
    t: float | None = None
    reference: Mapping[str, Any] = field(default_factory=dict)
    class_field: str = "class"
    when_missing: str = "refuse"
    keep: tuple[str, ...] | None = None
    unknown: str = "reject"
    max_rejected: float = 0.5

    def __post_init__(self) -> None:
        raise_all(ParameterError, [*checks.lists(self, _LISTS), *checks.tables(self, _TABLES), *checks.numbers(self)])
        for name in _LISTS:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.keep is not None:
            object.__setattr__(self, "keep", tuple(self.keep))
        for name in _TABLES:
            object.__setattr__(self, name, _plain(getattr(self, name)))
        object.__setattr__(self, "bounds", {name: tuple(ends) for name, ends in self.bounds.items()})
        raise_all(
            ParameterError,
            [*checks.names(self), *checks.roles(self), *domains.domains(self), *checks.promises(self)],
        )
        object.__setattr__(self, "kinds", {name: Kind(kind) for name, kind in self.kinds.items()})
        if self.require or self.t is not None or self.reference:
            from shoal.stream.recipe import demands

            raise_all(ParameterError, demands.faults(self))
        for name in ("k", "delay"):
            object.__setattr__(self, name, int(getattr(self, name)))
        assert self._trees.keys() == self.taxonomies.keys()  # they are read, and refused if they cannot be

    @cached_property
    def known(self) -> tuple[Known, ...]:
        """What is known of each quasi-identifier."""
        return tuple(self.known_of(name) for name in self.quasi)

    @cached_property
    def _trees(self) -> dict[str, Taxonomy]:
        from shoal.schema.taxonomy_files import taxonomy_of

        return {name: taxonomy_of(name, given) for name, given in self.taxonomies.items()}

    def known_of(self, name: str) -> Known:
        """Return what is known of a field."""
        low, high = self.bounds.get(name, (None, None))
        taxonomy = self._trees.get(name)
        categories = tuple(self.orders.get(name, self.categories.get(name, ())))
        kind = domains.kind_of(self, name)
        usual = 1 if kind is Kind.INTEGER and not self.exact_means else None
        return Known(name, kind, low, high, categories, taxonomy, self.resolution.get(name, usual))

    def weight(self, name: str) -> float:
        """Return how much squared distances in a quasi-identifier count."""
        return float(self.attribute_weights.get(name, 1.0))

    @cached_property
    def removed(self) -> tuple[str, ...]:
        """The fields that do not leave."""
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

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults as plain values, as in TOML."""
        found: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            usual = f.default if f.default_factory is MISSING else f.default_factory()
            if value != usual:
                found[f.name] = _plain(value)
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> StreamRecipe:
        """Make a recipe from plain values; an unknown name is an error."""
        known = [f.name for f in fields(cls)]
        raise_all(ParameterError, [unknown_name("StreamRecipe", "field", n, known) for n in values if n not in known])
        needed = [n for n in ("quasi", "k", "delay") if n not in values]
        raise_all(ParameterError, [f"StreamRecipe: {n} must be given, got nothing. Add {n}." for n in needed])
        return cls(**values)

    def to_toml(self) -> str:
        """Return the recipe as TOML."""
        import tomli_w

        return tomli_w.dumps(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> StreamRecipe:
        """Make a recipe from TOML."""
        return cls.from_dict(_read(text))

    @classmethod
    def load(cls, path: str | Path) -> StreamRecipe:
        """Read a recipe from a TOML file."""
        return cls.from_dict(cls.values_in(path))

    @staticmethod
    def values_in(path: str | Path) -> dict[str, Any]:
        """Return what a TOML file says, unchecked, with the paths of taxonomies as seen from here.

        Options are merged into these values before defaults are resolved.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ParameterError(f"StreamRecipe: {path} cannot be read ({reason}). Check the path.") from None
        folder, values = Path(path).parent, _read(text)
        if isinstance(values.get("taxonomies"), dict):
            said = values["taxonomies"].items()
            values["taxonomies"] = {n: str(folder / given) if isinstance(given, str) else given for n, given in said}
        return values

    @property
    def stored(self) -> dict[str, Any]:
        """What is kept beside a stream, so that nobody goes on with another guarantee: all of it, in plain values."""
        said = self.to_dict()
        if self.taxonomies:  # what is in the files counts, not where these are
            said["taxonomies"] = {
                n: {leaf: list(path) for leaf, path in t.paths.items()} for n, t in self._trees.items()
            }
        return said

    def changed(self, stored: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the fields in which this recipe differs from one that was stored."""
        mine = self.stored
        return tuple(f.name for f in fields(self) if mine.get(f.name) != stored.get(f.name))

    @property
    def promised(self) -> dict[str, Any]:
        """What must stay the same when a stream is resumed: all that classes depend on."""
        return {name: value for name, value in self.stored.items() if name not in _CORRECTABLE}

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what is promised: equal for equal guarantees, however they were written."""
        import hashlib
        import json

        canonical = json.dumps(self.promised, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"StreamRecipe: the text is not TOML: {error}. Correct that place.") from None


def _plain(value: Any) -> Any:
    """Return plain values, as TOML and JSON have them; moments as text."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, Kind):
        return value.value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, Fraction):
        return float(value)
    return value.item() if hasattr(value, "item") else value
