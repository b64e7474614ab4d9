"""Recipe: the frozen description of a run, with resolved defaults and the roles and blocks that follow.

`RecipeArguments` types the fields as arguments, where a list serves as well as a tuple. Type checkers and editors read
it; a test compares it with the declarations in `fields.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict, Unpack

from shoal import registry
from shoal.errors import ParameterError
from shoal.parameters import UNSET, declarations
from shoal.recipe.contents import seconds_in
from shoal.recipe.fields import BLOCKINGS, EFFORTS, RecipeFields
from shoal.recipe.requirements import into_fields
from shoal.recipe.rules import RULES
from shoal.recipe.settings import Rule, documented, sentences
from shoal.types import Kind, Role

_NO_VERSION = "The recipe has no version"


def migrated(values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the values of a recipe file in the current version, and a note on every change.

    >>> migrated({"quasi": ["age"], "row_order": "keep", "exact_means": True})[0]["method"]
    'mdav'
    >>> migrated({"quasi": ["age"], "version": 1})
    ({'quasi': ['age'], 'version': 1}, ())
    """
    if "version" in values:
        return dict(values), ()
    found = dict(values)
    notes = [*_written(found), *_safer(values)]
    return found, tuple(f"{_NO_VERSION}: {note}" for note in notes)


def _written(values: dict[str, Any]) -> list[str]:
    """Add the method and the scaling that a file without a version implies."""
    notes = []
    if not values.get("method"):
        values["method"] = "auto" if values.get("require") or values.get("t") is not None else "mdav"
        notes.append(f"method = {values['method']} is kept. Write it into the file, with version = 1.")
    given = values.get("set", {})
    if isinstance(given, Mapping) and "scale" not in given and values.get("claim") != "original":  # no scale there
        values["set"] = {**given, "scale": "standard"}
        notes.append("scale = standard is kept. Write it into the file under [set].")
    return notes


def _safer(values: Mapping[str, Any]) -> list[str]:
    """Name the safe defaults that were added after the first recipes, where they apply."""
    notes = []
    if not values.keys() & {"exact_means", "resolution"}:
        notes.append("means have no more digits than their column. exact_means = true releases all digits.")
    if "row_order" not in values:
        notes.append("sorted files are shuffled if their order reveals something. row_order = keep keeps it.")
    if "weight" in values and "release_weight" not in values:
        notes.append("weights are released as the mean of their class. release_weight = record releases each.")
    if values.keys() & {"subject", "together"} and "subject_exact" not in values:
        notes.append("Ann and ANN are one person. subject_exact = true counts every spelling.")
    return notes


_K = 5
_OLD = {"effort": "effort", "seconds": "deadline"}  # parameters in `set` that became fields …
_OLD_BLOCKS = {"group": "attribute_blocks", "block_size": "block_size"}  # … and those of methods that form blocks
_BLOCK_SIZE = 3


def _parameters_of(method: Any) -> set[str]:
    """Return the parameters of a method; none if there is no such method."""
    if not isinstance(method, str) or method not in registry.keys("partition"):
        return set()
    return {one.name for one in declarations(registry.load("partition", method))}


@documented
class Recipe(RecipeFields):
    """The settings of a run: the roles of columns, the size of classes, the method.

    >>> recipe = Recipe(quasi=["age", "income"], k=5)
    >>> Recipe.from_toml(recipe.to_toml()) == recipe
    True
    >>> Recipe(quasi=["age"], k=1)
    Traceback (most recent call last):
    shoal.errors.ParameterError: Recipe: k must be an integer ≥ 2, got 1. Raise k.
    """

    schema_file: ClassVar[str] = "shoal-recipe.schema.json"
    always: ClassVar[tuple[str, ...]] = ("k", "method", "release", "seed")

    rules: ClassVar[tuple[tuple[Rule, ...], ...]] = (RULES,)

    if TYPE_CHECKING:

        def __init__(self, **fields: Unpack[RecipeArguments]) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.t is not None:
            object.__setattr__(self, "t", float(self.t))
        if self.deadline is not None:
            object.__setattr__(self, "deadline", seconds_in(self.deadline))
        object.__setattr__(self, "kinds", {name: Kind(kind) for name, kind in self.kinds.items()})

    def _resolve(self) -> dict[str, list[str]]:
        """Move requirements and old names into fields, then resolve fields that were not given."""
        refused = self._renamed()
        unset = {f.name for f in fields(self) if getattr(self, f.name) is UNSET}
        if self.require and isinstance(self.require, Mapping):
            given = {n: getattr(self, n) for n in ("k", "t", "n") if getattr(self, n) not in (UNSET, None)}
            try:
                rest, required = into_fields(self.require, given)
            except ParameterError as error:
                rest, required = dict(self.require), {}
                refused["require"] = sentences(error)
            unset -= required.keys()
            for name, value in {**required, "require": rest}.items():
                object.__setattr__(self, name, value)
        if "method" in unset:
            object.__setattr__(self, "method", "auto")
        usual = {"k": _K, "method": "auto", "effort": "default" if self.searches else None}
        for name in unset:
            object.__setattr__(self, name, usual[name])
        object.__setattr__(self, "_unset", frozenset(unset))
        return refused

    def _renamed(self) -> dict[str, list[str]]:
        """Accept values given under old names; return those that conflict with new names, with sentences."""
        rest = dict(self.set) if isinstance(self.set, Mapping) else {}
        given = [name for name in _OLD if name in rest]
        own = _parameters_of(self.method) if given and not self.searches else ()
        old: dict[str, tuple[str, Any]] = {"refine": ("effort", self.refine)} if self.refine in EFFORTS else {}
        old |= {f"set.{name}": (_OLD[name], rest.pop(name)) for name in given if name not in own}
        if isinstance(self.blocks, (list, tuple, str)) and self.blocks:
            old["blocks"] = ("attribute_blocks", self.blocks)
        if self._groups(rest):
            old |= {f"set.{name}": (new, rest.pop(name)) for name, new in _OLD_BLOCKS.items() if name in rest}
        refused: dict[str, list[str]] = {}
        notes = []
        for name, (new, value) in old.items():
            if getattr(self, new) not in (UNSET, None, (), value):
                refused[name] = [f"{type(self).__name__}: {name} is the old name of {new}. Give {new} only."]
                continue
            object.__setattr__(self, new, value)
            notes.append(f"{name} is now called {new}. Rename it.")
        for name, nothing in (("refine", None), ("blocks", ())):
            if name in old:
                object.__setattr__(self, name, nothing)
        if isinstance(self.set, Mapping):
            object.__setattr__(self, "set", rest)
        object.__setattr__(self, "_notes", tuple(notes))
        return refused

    def _groups(self, given: Mapping[str, Any]) -> bool:
        """Tell whether parameters in `set` make the method group attributes into blocks, as fields now do.

        Inside blocks that are listed, the method groups as before.
        """
        listed = any(found and not isinstance(found, str) for found in (self.blocks, self.attribute_blocks))
        return not listed and given.get("group") in BLOCKINGS and _OLD_BLOCKS.keys() <= _parameters_of(self.method)

    @property
    def searches(self) -> bool:
        """Whether the method is a search, which takes the effort itself."""
        known = isinstance(self.method, str) and self.method in registry.keys("partition")
        return known and bool(registry.says("partition", self.method, "searches"))

    @property
    def refinement(self) -> str | None:
        """The effort with which classes are refined after the method; None: they are not."""
        return None if self.searches else self.effort

    @property
    def unset(self) -> frozenset[str]:
        """The fields among `k`, `method` and `effort` that were not given: they hold defaults, not demands."""
        found: frozenset[str] = vars(self)["_unset"]
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """Changes made to old recipes: by the migration of a file without a version, and by new names."""
        found: tuple[str, ...] = vars(self).get("_notes", ())
        return found

    @classmethod
    def from_file(cls, values: Mapping[str, Any]) -> Self:
        """Make a recipe from the values of a file; one without a version is migrated, with notes on the changes."""
        current, notes = migrated(values)
        made = cls.from_dict(current)
        object.__setattr__(made, "_notes", (*notes, *made.notes))
        return made

    def override(self, **changes: Unpack[Changes]) -> Recipe:
        """Return the recipe with other values of some fields; defaults are resolved again.

        :func:`dataclasses.replace` instead keeps resolved defaults, as if they had been given.

        >>> from dataclasses import replace
        >>> plain = Recipe(quasi=["age"])
        >>> plain.effort, plain.override(method="mdav").effort, replace(plain, method="mdav").effort
        ('default', None, 'default')
        """
        kept: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.unset}
        made = Recipe(**{**kept, **changes})
        object.__setattr__(made, "_notes", tuple(dict.fromkeys((*self.notes, *made.notes))))
        return made

    def columns(self, role: Role) -> tuple[str, ...]:
        """Return the columns with a role."""
        if role is Role.OTHER:
            return ()
        given = self.counted if role is Role.SUBJECT else getattr(self, role.value)
        return given if isinstance(given, tuple) else (given,) if given else ()

    @property
    def counted(self) -> str | None:
        """The column whose values k counts; None: records."""
        return self.subject or self.together

    @property
    def pseudonym(self) -> str | None:
        """The column that is released with a pseudonym for each person; None: none is."""
        return self.subject if self.subject_out == "pseudonym" else None

    @property
    def removed(self) -> tuple[str, ...]:
        """The identifying columns that must not be in the output as they are read."""
        return (*self.identifier, *(name for name in self.columns(Role.SUBJECT) if name != self.pseudonym))

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each column that has one."""
        return {name: role for role in Role for name in self.columns(role)}

    @property
    def all_blocks(self) -> tuple[tuple[str, ...], ...]:
        """The blocks to partition: the given ones if there are several, else one of all quasi-identifiers.

        If some belong to the household, these form one block, and the others another. Blocks by correlation are known
        once a plan has replaced the word with what it found in the table.
        """
        if len(self.listed_blocks) > 1:
            return self.listed_blocks
        parts = (
            tuple(name for name in self.quasi if (name in self.household_level) is inside) for inside in (True, False)
        )
        return tuple(part for part in parts if part)

    @property
    def nested(self) -> bool:
        """Whether records are partitioned within the classes of their groups, so that k holds over both."""
        return bool(self.household_level) and len(self.listed_blocks) <= 1 and len(self.all_blocks) > 1

    @property
    def listed_blocks(self) -> tuple[tuple[str, ...], ...]:
        """The blocks that the recipe lists; none if they are to be formed by correlation."""
        return () if isinstance(self.attribute_blocks, str) else self.attribute_blocks

    @property
    def blocking(self) -> tuple[str, int] | None:
        """How blocks are to be formed by correlation: the word, and the largest size of a block; None: they are not."""
        found = self.attribute_blocks
        return (found, self.block_size or _BLOCK_SIZE) if isinstance(found, str) else None

    @property
    def block_count(self) -> int:
        """The number of blocks that are partitioned separately."""
        return len(self.all_blocks) if self.blocking is None else -(-len(self.quasi) // self.blocking[1])

    @property
    def whole_blocks(self) -> tuple[tuple[str, ...], ...]:
        """The blocks in which groups of records are never split."""
        if self.together is None:
            return ()
        level = set(self.household_level or self.quasi)
        return tuple(block for block in self.all_blocks if level.issuperset(block))


Names = Sequence[str]
Table = Mapping[str, Any]


class _Optional(TypedDict, total=False):
    version: int
    confidential: Names
    identifier: Names
    strata: Names
    subject: str | None
    subject_exact: bool
    subject_out: str
    weight: str | None
    together: str | None
    household_level: Names
    require: Table
    attacker: str
    method: str | None
    release: str
    set: Table
    kinds: Table
    taxonomies: Mapping[str, Mapping[str, Any] | str]
    orders: Mapping[str, Sequence[Any]]
    recode: Mapping[str, Mapping[str, Any]]
    attribute_weights: Mapping[str, float]
    coordinates: Sequence[Names]
    when_missing: str
    suppress: float
    small_strata: str
    attribute_blocks: Sequence[Names] | str
    block_size: int | None
    blocks: Sequence[Names] | str
    steer: Sequence[Table]
    text: Table
    deadline: float | str | None
    seed: int
    release_weight: str | bool
    resolution: Mapping[str, float | str]
    exact_means: bool
    row_order: str
    reviewed: Names


class _Levels(_Optional, total=False):
    k: int
    t: float | None
    n: int | None
    effort: str | None
    refine: str | None
    epsilon: float | Mapping[str, float] | None
    bounds: Mapping[str, Sequence[float]] | str
    claim: str


class RecipeArguments(_Levels):
    """Arguments of :class:`shoal.Recipe`."""

    quasi: Names


class Changes(_Levels, total=False):
    """Fields given by name, alone or beside a recipe."""

    quasi: Names


class FixedFields(_Optional, total=False):
    """Fields given by name to :func:`shoal.explore`, whose own arguments say what varies."""

    quasi: Names
    n: int | None
