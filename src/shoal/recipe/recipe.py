"""The frozen description of a run, in the words of the command line; TOML both ways; fingerprint."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from shoal import registry
from shoal.errors import ParameterError, listing, raise_all
from shoal.parameters import UNSET, shown, unknown
from shoal.recipe import noise
from shoal.recipe.requirements import into_fields, misplaced, of_confidential, of_persons, resolve
from shoal.types import UNITS, Kind, Role

RELEASE_WEIGHT = ("class", "record", "none")
ROW_ORDER = ("auto", "keep", "shuffle")
_LISTS = ("quasi", "confidential", "identifier", "strata", "household_level", "reviewed")
_NAMES = ("subject", "weight", "together")
EFFORTS = ("fast", "default", "best")
_TABLES = ("set", "text", "taxonomies", "orders", "attribute_weights", "require", "resolution")
WHEN_MISSING = ("category", "exclude", "fill")
SMALL_STRATA = ("refuse", "merge")
_K = 5


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to do with a table: what its columns are for, how large the classes are, by which method.

    >>> recipe = Recipe(quasi=["age", "income"], k=5)
    >>> Recipe.from_toml(recipe.to_toml()) == recipe
    True
    >>> Recipe(quasi=["age"], k=1)
    Traceback (most recent call last):
    shoal.errors.ParameterError: Recipe: k must be an integer ≥ 2, got 1. Raise k.

    Attributes
    ----------
    quasi
        Quasi-identifiers: what an intruder may know from elsewhere.
    confidential, identifier, strata
        Columns of these roles (see the glossary).
    subject, weight
        The column that says whom a record is about; the column of sampling weights.
    subject_exact
        Every spelling in the column of subjects, or of `together`, is another one. False: people and groups are
        compared cautiously. Ann, ANN and " ann" are one person, and so are 7, 7.0 and 007.
    together
        A column, such as the household: records with the same value are never separated, and k counts these groups.
        It takes the place of a subject, and does not leave.
    household_level
        With together: the quasi-identifiers that are of the group, such as the dwelling of a household. Only these are
        kept together; the others are partitioned record by record, within the classes of the groups unless there are
        blocks. Empty: all are kept together.
    k
        Smallest number of records in a class.
    t
        How far a class may be from the table in each confidential attribute, from 0 to 1. None: as far as it likes.
    n
        With t: promise (n,t)-closeness, which is less: a class need only be close to n records around it.
    require
        What else must hold: levels of privacy models by name, of confidential columns for all of them or for each.
    method, release
        Registry keys. Without a method: mdav, and with t or require what `auto` finds best.
    refine
        Effort with which to lower the loss after the method: fast, default or best. None: not at all.
    set
        Parameters of the method, the release and the encoding, by name.
    kinds
        Kinds of columns where the inferred one is not meant.
    taxonomies
        For a column of categories, groups of its values within groups, down to lists of values; or a file with them.
    orders
        For a column of categories, these from the lowest to the highest; such a column is ordinal.
    attribute_weights
        How much squared distances in a quasi-identifier count; 1 where nothing is said.
    when_missing
        What a missing quasi-identifier is: a `category` of its own; a reason to `exclude` the record, which then does
        not leave; or something to `fill` with what its class has (for the claim ``original``, with the middle of its
        bounds, or the first category of its taxonomy).
    small_strata
        What to do about strata that hold fewer than k: `refuse` the table, or `merge` them with the nearest ones.
    blocks
        Disjoint blocks of quasi-identifiers, each partitioned on its own. Empty: one block of all.
    steer
        Artificial attributes: each a table with `by` (a registry key), `weight`, and the parameters of its maker.
    text
        How a text file is written: delimiter, quote, encoding, decimal, missing, datetime.
    seed
        Where randomness starts.
    epsilon
        For a release that adds noise: the privacy budget, or that of each quasi-identifier by name.
    bounds
        For a release that adds noise: for each quasi-identifier the two ends of its domain, from what is known without
        the data. The text "from the data, which is not private" takes them from the data.
    claim
        What ε-differential privacy is claimed for: ``microaggregated``, the microaggregated data set with its classes
        held fixed; or ``original``, the original records.
    release_weight
        What becomes of the weight column: ``class``, every record gets the mean weight of its class, and means are
        weighted; ``record``, the weight as it is, and nothing else depends on it; ``none``, the column is removed, and
        means are weighted. True and False are short for ``record`` and ``none``.
    resolution
        For a quasi-identifier, the step that its released values are multiples of: a number (``{"income": 100}``), or
        for dates a unit (``{"birth": "month"}``). Without: the decimals that the column itself has.
    exact_means
        Release means with all their digits, as float64. They give away sums over the members of a class.
    row_order
        ``keep`` the order of the input, ``shuffle`` the rows, or ``auto``: shuffle a file that is sorted by a column
        which is masked, removed or confidential.
    reviewed
        Columns that are released unchanged and that you have looked at: nobody else can know their values. Reports
        do not warn of records that only these make unique.
    """

    quasi: tuple[str, ...]
    confidential: tuple[str, ...] = ()
    identifier: tuple[str, ...] = ()
    strata: tuple[str, ...] = ()
    subject: str | None = None
    subject_exact: bool = False
    weight: str | None = None
    together: str | None = None
    household_level: tuple[str, ...] = ()
    k: int = UNSET
    t: float | None = None
    n: int | None = None
    require: Mapping[str, Any] = field(default_factory=dict)
    method: str = UNSET
    release: str = "centroid"
    refine: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    taxonomies: Mapping[str, Mapping[str, Any] | str] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    attribute_weights: Mapping[str, float] = field(default_factory=dict)
    when_missing: str = "category"
    small_strata: str = "refuse"
    blocks: tuple[tuple[str, ...], ...] = ()
    steer: tuple[Mapping[str, Any], ...] = ()
    text: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    epsilon: float | Mapping[str, float] | None = None
    bounds: Mapping[str, Sequence[float]] | str = field(default_factory=dict)
    claim: str = "microaggregated"
    release_weight: str = "class"
    resolution: Mapping[str, float | str] = field(default_factory=dict)
    exact_means: bool = False
    row_order: str = "auto"
    reviewed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.release_weight, bool):
            object.__setattr__(self, "release_weight", "record" if self.release_weight else "none")
        self._resolve()
        faults = [*self._types(), *self._names(), *self._numbers()]
        raise_all(ParameterError, faults)
        for name in _LISTS:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("k", "seed", *(("n",) if self.n is not None else ())):
            object.__setattr__(self, name, int(getattr(self, name)))
        if self.t is not None:
            object.__setattr__(self, "t", float(self.t))
        object.__setattr__(self, "blocks", tuple(tuple(block) for block in self.blocks))
        object.__setattr__(self, "steer", tuple(_plain(table) for table in self.steer))
        object.__setattr__(self, "kinds", {name: Kind(kind) for name, kind in self.kinds.items()})
        for name in _TABLES:
            object.__setattr__(self, name, _plain(getattr(self, name)))
        raise_all(ParameterError, [*self._roles(), *self._groups(), *self._blocks(), *self._required(), *self._noise()])
        raise_all(ParameterError, [*self._digits(), *self._reviewed()])
        for name in ("epsilon", "bounds"):
            object.__setattr__(self, name, _plain(getattr(self, name)))

    def _resolve(self) -> None:
        """Move requirements into fields, then resolve what nobody gave."""
        unset = {f.name for f in fields(self) if getattr(self, f.name) is UNSET}
        if self.method in ("", None):
            unset.add("method")
        if self.require and isinstance(self.require, Mapping):
            given = {n: getattr(self, n) for n in ("k", "t", "n") if getattr(self, n) not in (UNSET, None)}
            rest, required = into_fields(self.require, given)
            unset -= required.keys()
            for name, value in {**required, "require": rest}.items():
                object.__setattr__(self, name, value)
        usual = {"k": _K, "method": "auto" if self.require or self.t is not None else "mdav"}
        for name in unset:
            object.__setattr__(self, name, usual[name])
        object.__setattr__(self, "_unset", frozenset(unset))

    @property
    def unset(self) -> frozenset[str]:
        """The fields among `k` and `method` that nobody gave: they hold defaults, not demands."""
        found: frozenset[str] = vars(self)["_unset"]
        return found

    def override(self, **changes: Any) -> Recipe:
        """Return the recipe with other values of some fields; defaults are resolved anew.

        :func:`dataclasses.replace` keeps them instead, as if they had been given.

        >>> from dataclasses import replace
        >>> plain = Recipe(quasi=["age"], confidential=["pay"])
        >>> plain.method, plain.override(t=0.2).method, replace(plain, t=0.2).method
        ('mdav', 'auto', 'mdav')
        """
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.unset}
        return Recipe(**{**kept, **changes})

    def _types(self) -> list[str]:
        faults = [
            f"Recipe: {name} must be a list of column names, got {shown(getattr(self, name))}."
            for name in _LISTS
            if not _is_names(getattr(self, name))
        ]
        faults += [
            f"Recipe: {name} must be a column name, got {shown(getattr(self, name))}."
            for name in _NAMES
            if not isinstance(getattr(self, name), str | None)
        ]
        if not isinstance(self.blocks, (list, tuple)) or not all(_is_names(block) for block in self.blocks):
            faults.append("Recipe: blocks must be a list of lists of column names.")
        if not isinstance(self.steer, (list, tuple)) or not all(isinstance(table, Mapping) for table in self.steer):
            faults.append("Recipe: steer must be a list of tables of names and values.")
        else:
            keys = registry.keys("steer")
            faults += [
                unknown("Recipe", "steering (by)", b.get("by"), keys) for b in self.steer if b.get("by") not in keys
            ]
        faults += [
            f"Recipe: {name} must be a table of names and values, got {shown(getattr(self, name))}."
            for name in ("kinds", *_TABLES)
            if not isinstance(getattr(self, name), Mapping)
        ]
        if not faults:
            faults += [
                unknown(f"Recipe: column {name!r}", "kind", kind, [k.value for k in Kind])
                for name, kind in self.kinds.items()
                if kind not in list(Kind)
            ]
        return faults

    def _names(self) -> list[str]:
        faults = [] if self.refine in (None, *EFFORTS) else [unknown("Recipe", "refine", self.refine, EFFORTS)]
        if self.when_missing not in WHEN_MISSING:
            faults.append(unknown("Recipe", "when_missing", self.when_missing, WHEN_MISSING))
        if self.small_strata not in SMALL_STRATA:
            faults.append(unknown("Recipe", "small_strata", self.small_strata, SMALL_STRATA))
        if self.release_weight not in RELEASE_WEIGHT:
            faults.append(unknown("Recipe", "release_weight", self.release_weight, RELEASE_WEIGHT))
        if self.row_order not in ROW_ORDER:
            faults.append(unknown("Recipe", "row_order", self.row_order, ROW_ORDER))
        if not isinstance(self.subject_exact, bool):
            faults.append(f"Recipe: subject_exact must be true or false, got {shown(self.subject_exact)}.")
        if not isinstance(self.exact_means, bool):
            faults.append(f"Recipe: exact_means must be true or false, got {shown(self.exact_means)}.")
        return faults + [
            unknown("Recipe", field_, getattr(self, field_), registry.keys(room))
            for field_, room in (("method", "partition"), ("release", "release"))
            if getattr(self, field_) not in registry.keys(room)
        ]

    def _numbers(self) -> list[str]:
        faults = []
        for name, low in (("k", 2), ("seed", 0), *((("n", 1),) if self.n is not None else ())):
            value = getattr(self, name)
            if not isinstance(value, Integral) or isinstance(value, bool):
                faults.append(f"Recipe: {name} must be an integer ≥ {low}, got {shown(value)}.")
            elif value < low:
                faults.append(f"Recipe: {name} must be an integer ≥ {low}, got {shown(value)}. Raise {name}.")
        if self.t is not None and (not isinstance(self.t, Real) or isinstance(self.t, bool)):
            faults.append(f"Recipe: t must be a number ≥ 0 and ≤ 1, got {shown(self.t)}.")
        elif self.t is not None and not 0 <= self.t <= 1:
            faults.append(
                f"Recipe: t must be a number ≥ 0 and ≤ 1, got {shown(self.t)}. {'Raise' if self.t < 0 else 'Lower'} t."
            )
        return faults

    def _roles(self) -> list[str]:
        faults = []
        if not self.quasi:
            faults.append("Recipe: quasi must name at least one column, got none. Name what an intruder may know.")
        if self.t is not None and not self.confidential:
            faults.append(
                "Recipe: t needs at least one confidential column, got none. Name what must not be learnt, "
                "or leave out t."
            )
        faults += [
            f"Recipe: the order of {name!r} must be a list of its categories, got {shown(order)}."
            for name, order in self.orders.items()
            if not isinstance(order, (list, tuple)) or not order
        ] + [
            f"Recipe: the order of {name!r} must hold categories only, got a list, a table or nothing among them."
            for name, order in self.orders.items()
            if isinstance(order, (list, tuple)) and any(_is_none(category) for category in order)
        ]
        for name, weight in self.attribute_weights.items():
            if name not in self.quasi:
                faults.append(f"Recipe: attribute_weights names {name!r}, which is no quasi-identifier. Take it out.")
            if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 <= float(weight) <= 1e6:
                faults.append(
                    f"Recipe: the weight of attribute {name!r} must be a number ≥ 0 and ≤ 1e6, got {shown(weight)}."
                )
        if self.n is not None and self.t is None:
            faults.append("Recipe: n needs t, got none. Say how close classes must be: t = 0.2, or leave out n.")
        seen: dict[str, Role] = {}
        for role in Role:
            for name in self.columns(role):
                if name in seen and seen[name] is role:
                    faults.append(f"Recipe: column {name!r} is named twice as {role}. Name it once.")
                elif name in seen:
                    faults.append(f"Recipe: column {name!r} is both {seen[name]} and {role}. Give it one role.")
                seen[name] = role
        return faults

    def _groups(self) -> list[str]:
        faults = []
        if self.together is not None and self.subject is not None:
            faults.append("Recipe: subject and together cannot both be given: k counts one of them. Leave out one.")
        if self.subject_exact and self.counted is None:
            faults.append(
                "Recipe: subject_exact says how subjects are compared, and none are named. Name subject or together, "
                "or leave it out."
            )
        values = [one for one in resolve("Recipe", self.require) if not of_persons(one.key)]
        if self.together is not None and (self.t is not None or values):
            faults.append(
                "Recipe: t and require must be left out where records stay together, for what mends classes would "
                "separate them; only dominance may be required. Leave them out, or leave out together."
            )
        if self.household_level and self.together is None:
            faults.append("Recipe: household_level needs together, got none. Name the column of households there.")
        if extra := [name for name in self.household_level if name not in self.quasi]:
            faults.append(
                f"Recipe: household_level must hold quasi-identifiers only, {listing(extra)} is none. Take it out."
            )
        if any(0 < len(set(block) & set(self.household_level)) < len(block) for block in self.blocks):
            faults.append(
                "Recipe: a block must hold attributes of households or of records, one holds both. Part them."
            )
        if self.small_strata == "merge" and not self.strata:
            faults.append("Recipe: small_strata needs strata, got none. Name their columns, or leave it out.")
        return faults

    def _digits(self) -> list[str]:
        """Return what is wrong with the resolution of released values."""
        if self.resolution and self.exact_means:
            return ["Recipe: resolution and exact_means exclude each other. Leave out one of them."]
        faults = []
        for name, step in self.resolution.items():
            if name not in self.quasi:
                faults.append(
                    f"Recipe: resolution names {name!r}, which is not a quasi-identifier. Remove it, or change the "
                    f"role of the column."
                )
            number = isinstance(step, Real) and not isinstance(step, bool)
            if not (number and 0 < float(step) < math.inf) and step not in UNITS:
                faults.append(
                    f"Recipe: the resolution of {name!r} must be a number > 0, or for dates one of "
                    f"{', '.join(UNITS)}; got {shown(step)}."
                )
        if self.resolution and "resolution" not in (registry.says("release", self.release, "takes") or ()):
            faults.append(
                f"Recipe: resolution is for releases that average, {self.release} releases cells as they are. Leave "
                f"out resolution, or choose the release centroid."
            )
        return faults

    def _reviewed(self) -> list[str]:
        """Return what is wrong with the columns that were reviewed: all of them must be released unchanged."""
        if not self.reviewed:
            return []
        why = {name: self._changed(role) for name, role in self.roles.items()}
        if self.epsilon is not None and self.claim == "original":
            why |= dict.fromkeys(self.reviewed, "only quasi-identifiers are released where claim = original")
        faults = [
            f"Recipe: reviewed must hold columns that are released unchanged, {name!r} is not: {why[name]}. Remove it "
            f"from reviewed."
            for name in dict.fromkeys(self.reviewed)
            if why.get(name)
        ]
        twice = sorted({name for name in self.reviewed if self.reviewed.count(name) > 1})
        return faults + [f"Recipe: reviewed names column {name!r} twice. Name it once." for name in twice]

    def _changed(self, role: Role) -> str:
        """Say what becomes of the columns of a role; empty: they are released unchanged."""
        if role is Role.WEIGHT and self.release_weight == "class":
            whole = registry.says("release", self.release, "two_tables") is True
            return "" if whole else "the mean weight of a class is released"
        if role is Role.WEIGHT and self.release_weight == "none":
            return "the weight is removed"
        return {Role.QUASI: "it is a quasi-identifier"}.get(role, "" if role.leaves else "it is removed")

    def _noise(self) -> list[str]:
        takes = (
            registry.says("release", self.release, "takes") or ()
        )  # without loading it: a verifier reads recipes, too
        said = (self.epsilon, self.bounds, self.claim)
        return noise.faults(*said, self.quasi) or noise.misplaced(self.release, takes, *said)

    def _required(self) -> list[str]:
        required = resolve("Recipe", self.require)
        faults = misplaced("Recipe", required, self.confidential)
        for one in required:
            if not of_confidential(one.key) and not of_persons(one.key):
                faults.append(f"Recipe: {one.key} cannot be required of a table that is to be protected. Leave it out.")
            if (p := dict(one.levels).get("p", 0)) > self.k:
                faults.append(f"Recipe: p must be at most k, got p = {p} and k = {self.k}. Raise k, or lower p.")
        return faults

    def _blocks(self) -> list[str]:
        if not self.blocks:
            return []
        inside = [name for block in self.blocks for name in block]
        faults = []
        if twice := sorted({name for name in inside if inside.count(name) > 1}):
            faults.append(f"Recipe: blocks must be disjoint, {listing(twice)} is in two. Name it once.")
        if lacking := [name for name in self.quasi if name not in inside]:
            faults.append(f"Recipe: blocks must hold every quasi-identifier, {listing(lacking)} is in none. Add it.")
        if extra := [name for name in inside if name not in self.quasi]:
            faults.append(f"Recipe: blocks must hold quasi-identifiers only, {listing(extra)} is none. Take it out.")
        if not all(self.blocks):
            faults.append("Recipe: a block must hold at least one quasi-identifier, one holds none.")
        return faults

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def columns(self, role: Role) -> tuple[str, ...]:
        """Return the columns that were given a role."""
        if role is Role.OTHER:
            return ()
        given = self.counted if role is Role.SUBJECT else getattr(self, role.value)
        return given if isinstance(given, tuple) else (given,) if given else ()

    @property
    def counted(self) -> str | None:
        """The column that says what k counts; None: records."""
        return self.subject or self.together

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each column that was given one."""
        return {name: role for role in Role for name in self.columns(role)}

    @property
    def all_blocks(self) -> tuple[tuple[str, ...], ...]:
        """The blocks to partition: those given if there are several, else one of all quasi-identifiers.

        Where some are of the household, these are a block, and the others another.
        """
        if len(self.blocks) > 1:
            return self.blocks
        parts = (
            tuple(name for name in self.quasi if (name in self.household_level) is inside) for inside in (True, False)
        )
        return tuple(part for part in parts if part)

    @property
    def nested(self) -> bool:
        """Whether records are partitioned within the classes of their groups, so that k holds over both."""
        return bool(self.household_level) and len(self.blocks) <= 1 and len(self.all_blocks) > 1

    @property
    def whole_blocks(self) -> tuple[tuple[str, ...], ...]:
        """The blocks in which groups of records stay together."""
        if self.together is None:
            return ()
        level = set(self.household_level or self.quasi)
        return tuple(block for block in self.all_blocks if level.issuperset(block))

    def to_dict(self) -> dict[str, Any]:
        """Return what differs from the defaults as plain values, as in TOML; k, method, release and seed always."""
        found: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            plain = f.default if f.default_factory is MISSING else f.default_factory()
            if f.name in ("k", "method", "release", "seed") or value != plain:
                found[f.name] = _plain(value)
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """Make a recipe from plain values; an unknown name is an error."""
        known = [f.name for f in fields(cls)]
        raise_all(ParameterError, [unknown("Recipe", "field", n, known) for n in values if n not in known])
        if "quasi" not in values:
            raise ParameterError('Recipe: quasi must name at least one column, got none. Add quasi = ["…"].')
        return cls(**values)

    def to_toml(self, folder: Path | None = None, *, complete: bool = False) -> str:
        """Return the recipe as TOML; for a file in a folder, with the paths of taxonomies as seen from there.

        A method that nobody chose is left out unless it shall be `complete`: where t or require are added to the file,
        the default is another.
        """
        import tomli_w

        said = self.to_dict()
        if "method" in self.unset and not complete:
            del said["method"]
        if folder is not None and "taxonomies" in said:
            said["taxonomies"] = {name: _seen_from(folder, given) for name, given in said["taxonomies"].items()}
        return tomli_w.dumps(said)

    @classmethod
    def from_toml(cls, text: str) -> Recipe:
        """Make a recipe from TOML."""
        return cls.from_dict(_read(text))

    @classmethod
    def load(cls, path: str | Path) -> Recipe:
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
            raise ParameterError(f"Recipe: {path} cannot be read ({reason}). Check the path.") from None
        values, folder = _read(text), Path(path).parent
        if isinstance(values.get("taxonomies"), dict):
            said = values["taxonomies"].items()
            values["taxonomies"] = {n: str(folder / given) if isinstance(given, str) else given for n, given in said}
        return values

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what the recipe says: equal for equal recipes, however they were written."""
        import hashlib
        import json

        canonical = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"Recipe: the text is not TOML: {error}. Correct that place.") from None


def _is_none(category: object) -> bool:
    """Tell whether something cannot be a category: its text would pass for one that nobody has."""
    return category is None or isinstance(category, (Mapping, list, tuple))


def _is_names(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)


def _seen_from(folder: Path, given: Any) -> Any:
    """Return a path as :meth:`Recipe.load` takes it, from the folder of the recipe; what is no path stays."""
    if not isinstance(given, str) or Path(given).is_absolute():
        return given
    try:
        return Path(os.path.relpath(given, folder)).as_posix()
    except ValueError:  # on another drive
        return str(Path(given).absolute())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value.value if isinstance(value, Kind) else value
