"""Parameters as annotated dataclass fields: one declaration serves Python, TOML, command line and documentation.

::

    @dataclass(frozen=True)
    class Mdav(Checked):
        k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

A value outside the declaration raises :class:`~shoal.errors.ParameterError` with a sentence, and so does an unknown
name.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from shoal.errors import ParameterError, listing, raise_all

T = TypeVar("T")
_SEVERAL = {int: "integers", float: "numbers"}


class Unset(Enum):
    """A setting that was not given; unlike a default value, it cannot be given by accident."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return self.name


#: Default of settings that are resolved last, when all given ones are known.
UNSET: Any = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Param:
    """Declaration of a parameter: purpose, range (ends included) and, for settings of a recipe, where it appears.

    Attributes
    ----------
    description
        Help text; of a recipe's setting a sentence under 70 characters.
    low, high
        Smallest and largest number.
    above, below
        Exclusive limits.
    choices
        Allowed names, or a function that looks them up.
    words
        Allowed values in words, if the type does not say enough.
    group
        Heading of the option in ``--help``.
    example
        A value as TOML.
    option, metavar
        Command-line option, if it is not named like the field; the form of its value.
    inner, each
        Class that declares the names inside a table, or inside each entry of a table.
    check
        Further check: a function of name and value that yields sentences without the owner's name.
    short
        Pairs of an accepted shorthand and the value that it stands for.
    usual
        Default in words, if it depends on other settings.
    more, see
        Further sentences and a link for the reference page.
    """

    description: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Collection[str] | Callable[[], Collection[str]] = ()
    words: str = ""
    group: str = ""
    example: str = ""
    option: str = ""
    metavar: str = ""
    inner: type | None = None
    each: type | None = None
    check: Callable[[str, Any], Iterable[str]] | None = None
    short: tuple[tuple[Any, Any], ...] = ()
    usual: str = ""
    more: str = ""
    see: str = ""

    def holds(self, value: object) -> bool:
        """Tell whether a value lies in the range; only numbers have one."""
        if not isinstance(value, Real) or isinstance(value, bool):
            return True
        number: Any = value
        least = (self.low is None or number >= self.low) and (self.above is None or number > self.above)
        most = (self.high is None or number <= self.high) and (self.below is None or number < self.below)
        return bool(least and most)


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter as declared: its name, type, range and default."""

    name: str
    kind: Any
    param: Param
    default: Any
    required: bool = False

    @property
    def choices(self) -> Collection[str]:
        """The allowed names; empty: any value of the type."""
        given = self.param.choices
        return given() if callable(given) else given

    @property
    def allowed(self) -> str:
        """The allowed values, in words: ``an integer ≥ 2``."""
        if self.param.words:
            return self.param.words
        ends = (("≥", self.param.low), (">", self.param.above), ("≤", self.param.high), ("<", self.param.below))
        limits = " and ".join(f"{sign} {_in_digits(end)}" for sign, end in ends if end is not None)
        return f"{_in_words(self.kind)} {limits}".rstrip()

    def accepts(self, value: object) -> bool:
        """Tell whether a value has the type, lies in the range and is one of the choices."""
        if not fits(value, self.kind) or not self.param.holds(value):
            return False
        return not self.param.choices or not isinstance(value, str) or value in self.choices

    def faults(self, owner: str, value: object) -> list[str]:
        """Return a sentence for a value that is not accepted, or the faults of its further check."""
        if not self.accepts(value):
            return [self._fault(owner, value)]
        found = () if self.param.check is None else self.param.check(self.name, value)
        return [f"{owner}: {sentence}" for sentence in found]

    def _fault(self, owner: str, value: object) -> str:
        if self.param.choices and not self.param.words:
            return unknown(owner, self.name, value, self.choices)
        lists = [kind for kind in alternatives(self.kind) if get_origin(kind) is tuple]
        if lists and not self.param.words:
            return f"{owner}: {self.name} must hold {_SEVERAL.get(get_args(lists[0])[0], 'names')} only."
        return f"{owner}: {self.name} must be {self.allowed}, got {shown(value)}.{self._remedy(value)}"

    def _remedy(self, value: object) -> str:
        number: Any = value
        if not fits(value, self.kind):
            return f" Write for example {self.name} = {self.param.example}." if self.param.example else ""
        if self.param.holds(value):
            return ""
        low = self.param.low if self.param.low is not None else self.param.above
        return f" {'Raise' if low is not None and number <= low else 'Lower'} {self.name}."


class Checked:
    """A frozen dataclass whose annotated fields are checked on construction."""

    def __post_init__(self) -> None:
        raise_all(ParameterError, [sentence for found in faults(self).values() for sentence in found])


def faults(made: object) -> dict[str, list[str]]:
    """Return the fields whose values are outside their declarations, with a sentence for every fault."""
    owner = type(made).__name__
    found = {one.name: one.faults(owner, getattr(made, one.name)) for one in declarations(type(made))}
    return {name: sentences for name, sentences in found.items() if sentences}


def declarations(cls: type) -> tuple[Declared, ...]:
    """Return the declared parameters of a dataclass, in order."""
    return _declarations(cls)  # a class is hashable even if its instances are not


@cache
def _declarations(cls: type) -> tuple[Declared, ...]:
    hints = typing.get_type_hints(cls, include_extras=True)
    found = []
    for f in fields(cls):
        args = get_args(hints[f.name])
        params = [a for a in args[1:] if isinstance(a, Param)]
        if params:
            default = f.default if f.default_factory is MISSING else f.default_factory()
            needed = default is MISSING
            found.append(Declared(f.name, args[0], params[0], None if needed else default, needed))
    return tuple(found)


def build(cls: type[T], values: Mapping[str, Any]) -> T:
    """Make a component from values by name; an unknown name is an error, never ignored.

    >>> from shoal.partition.mdav import Mdav
    >>> build(Mdav, {"k": 3})
    Mdav(k=3)
    """
    known = [d.name for d in declarations(cls)]
    for name in values:
        if name not in known:
            raise ParameterError(unknown(cls.__name__, "parameter", name, known))
    missing = [declared.name for declared in declarations(cls) if declared.required and declared.name not in values]
    if missing:
        raise ParameterError(f"{cls.__name__}: {listing(missing)} must be given.")
    return cls(**values)


_SUGGESTED = 3  # names that begin like an unknown one


def unknown(owner: str, field: str, name: object, known: Collection[str]) -> str:
    """Return the sentence for an unknown name, with the nearest known one."""
    return f"{owner}: {not_known(field, name, known)}"


def not_known(field: str, name: object, known: Collection[str]) -> str:
    """Return the same sentence without its owner."""
    import difflib

    near = difflib.get_close_matches(str(name), list(known), n=1)
    near = near or sorted(one for one in known if str(name) and one.startswith(f"{name}_"))[:_SUGGESTED]
    meant = " or ".join(filter(None, (", ".join(map(repr, near[:-1])), *map(repr, near[-1:]))))
    remedy = f"Did you mean {meant}?" if near else "Choose one of these."
    allowed = f"there {'is' if len(known) == 1 else 'are'} {listing(sorted(known), most=20) or 'none'}"
    return f"no {field} is called {repr(name) if isinstance(name, str) else shown(name)}; {allowed}. {remedy}"


def shown(value: object) -> str:
    """Return a parameter's value as shown in a message: short, and never a table."""
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return text if len(text) <= 40 else text[:37] + "…"
    return f"a {type(value).__name__}"


def alternatives(kind: Any) -> tuple[Any, ...]:
    """Return the types of a union; a single type is its only alternative."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def fits(value: object, kind: Any) -> bool:
    """Tell whether a value is of an annotated type; a list is accepted as a tuple, an integer as a number."""
    return any(_fits_one(value, option) for option in alternatives(kind))


def _fits_one(value: object, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is Literal:
        return value in inner
    if kind is float or kind is int:
        return isinstance(value, Real if kind is float else Integral) and not isinstance(value, bool)
    if origin is tuple:
        return isinstance(value, (list, tuple)) and all(fits(one, inner[0]) for one in value)
    return isinstance(value, origin or kind)


def _in_digits(end: float) -> str:
    return "2³¹" if end == 1 << 31 else f"{end:g}"


def _in_words(kind: Any) -> str:
    names = {int: "an integer", float: "a number", bool: "true or false", str: "text"}
    words = []
    for option in alternatives(kind):
        if option is type(None):
            continue  # optional: not worth mentioning
        if get_origin(option) is Literal:
            words.append("one of " + ", ".join(repr(choice) for choice in get_args(option)))
        elif get_origin(option) is Mapping:
            words.append("a table of names and values")
        else:
            words.append(names.get(option, getattr(option, "__name__", str(option))))
    return " or ".join(words)
