"""Parameters as annotated dataclass fields: one declaration serves Python, TOML, command line and documentation.

::

    @dataclass(frozen=True)
    class Mdav(Checked):
        k: Annotated[int, Param("Smallest number of records in a class.", low=2)]

A value outside the declaration raises :class:`~shoal.errors.ParameterError` with a sentence; so does a name
that no field has.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from numbers import Integral
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from shoal.errors import ParameterError, listing

T = TypeVar("T")


class Unset(Enum):
    """A setting that nobody gave; unlike a default value, nobody can give it by accident."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return self.name


#: Default of settings that are resolved last, when everything that was given is known.
UNSET: Any = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Param:
    """What a parameter is for, and the range it must lie in (ends included)."""

    description: str
    low: float | None = None
    high: float | None = None

    def holds(self, value: object) -> bool:
        """Tell whether a value lies in the range; what is not a number has none."""
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return True
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter as declared: its name, type, range and default."""

    name: str
    kind: Any
    param: Param
    default: Any

    @property
    def allowed(self) -> str:
        """What may be given, in words: ``an integer ≥ 2``."""
        ends = (("≥", self.param.low), ("≤", self.param.high))
        limits = " and ".join(f"{sign} {end:g}" for sign, end in ends if end is not None)
        return f"{_in_words(self.kind)} {limits}".rstrip()

    def accepts(self, value: object) -> bool:
        """Tell whether a value has the type and lies in the range."""
        return _fits(value, self.kind) and self.param.holds(value)


class Checked:
    """A frozen dataclass whose annotated fields are checked when it is made."""

    def __post_init__(self) -> None:
        for declared in declarations(type(self)):
            value = getattr(self, declared.name)
            if not declared.accepts(value):
                raise ParameterError(
                    f"{type(self).__name__}: {declared.name} must be {declared.allowed}, got {shown(value)}."
                    f"{_remedy(declared, value)}"
                )


def declarations(cls: type) -> tuple[Declared, ...]:
    """Return the declared parameters of a dataclass, in order."""
    hints = typing.get_type_hints(cls, include_extras=True)
    found = []
    for f in fields(cls):
        args = get_args(hints[f.name])
        params = [a for a in args[1:] if isinstance(a, Param)]
        if params:
            default = None if f.default is MISSING else f.default
            found.append(Declared(f.name, args[0], params[0], default))
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
    missing = [
        f.name
        for f in fields(cls)  # type: ignore[arg-type]
        if f.name not in values and f.default is MISSING and f.default_factory is MISSING
    ]
    if missing:
        raise ParameterError(f"{cls.__name__}: {listing(missing)} must be given.")
    return cls(**values)


def unknown(owner: str, field: str, name: object, known: Collection[str]) -> str:
    """Return the sentence for a name that nobody knows, with the nearest one that somebody does."""
    import difflib

    near = difflib.get_close_matches(str(name), list(known), n=1)
    remedy = f"Did you mean {near[0]!r}?" if near else "Choose one of these."
    allowed = f"there {'are' if len(known) > 1 else 'is'} {listing(sorted(known), most=20) or 'none'}"
    return f"{owner}: no {field} is called {name!r}; {allowed}. {remedy}"


def shown(value: object) -> str:
    """Return a parameter's value as it is shown in a message: short, and never a table."""
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return text if len(text) <= 40 else text[:37] + "…"
    return f"a {type(value).__name__}"


def _remedy(declared: Declared, value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and _fits(value, declared.kind):
        if declared.param.low is not None and value < declared.param.low:
            return f" Raise {declared.name}."
        return f" Lower {declared.name}."
    return ""


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _fits(value: object, kind: Any) -> bool:
    for option in _alternatives(kind):
        if get_origin(option) is Literal:
            if value in get_args(option):
                return True
        elif option is float:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return True
        elif option is int:
            if isinstance(value, Integral) and not isinstance(value, bool):
                return True
        elif isinstance(value, get_origin(option) or option):
            return True
    return False


def _in_words(kind: Any) -> str:
    names = {int: "an integer", float: "a number", bool: "true or false", str: "text"}
    words = []
    for option in _alternatives(kind):
        if option is type(None):
            continue  # may be left out: no need to say
        if get_origin(option) is Literal:
            words.append("one of " + ", ".join(repr(choice) for choice in get_args(option)))
        else:
            words.append(names.get(option, getattr(option, "__name__", str(option))))
    return " or ".join(words)
