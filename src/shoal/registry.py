"""Registry of components by family and key: files of this package, and packages that plug in through entry points.

``partition/mdav.py`` holds ``Mdav``, with the key ``mdav`` everywhere. Names come from the package, which may be a zip,
and from entry points; what a component declares comes from ``_index.json``, which ``python -m shoal.index`` writes. So
listing and ``shoal verify`` neither parse nor import a component; it is imported only when it is chosen.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from shoal.errors import ParameterError, listing
from shoal.extras import package as package  # noqa: PLC0414 - offered here, where components are loaded
from shoal.parameters import unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from shoal.types.protocols import Attack, Partitioner, Releaser, Sink, Source, Steering
    from shoal.types.stream import Channel, StreamMethod

_HOME = Path(__file__).parent

#: User-facing names of the families, and their packages.
ROOMS: dict[str, tuple[str, ...]] = {
    "methods": ("partition",),
    "models": ("privacy",),
    "measures": ("utility", "risk"),
    "releases": ("release",),
    "attacks": ("attack",),
    "steerings": ("steer",),
}
_OTHERS = ("points", "io.sources", "io.sinks", "stream.partition", "stream.points", "stream.channels")
FAMILIES = (*(family for families in ROOMS.values() for family in families), *_OTHERS)


@cache
def keys(family: str) -> tuple[str, ...]:
    """Return the keys of a family: its file names, and the names of its entry points.

    >>> "mdav" in keys("partition")
    True
    """
    return tuple(sorted({*built_in(family), *_plugins(family)}))


@cache
def built_in(family: str) -> frozenset[str]:
    """Return the keys of the components that are part of shoal: ``io.sources`` is the folder ``io/sources``."""
    import pkgutil

    modules = pkgutil.iter_modules([str(_HOME.joinpath(*family.split(".")))])
    return frozenset(module.name for module in modules if not module.ispkg and not module.name.startswith("_"))


def summary(family: str, key: str) -> str:
    """Return the first line of a component's docstring; of one that cannot be used, the reason."""
    try:
        _refuse(family, key)
        return str(_declares(family, key)["summary"])
    except ParameterError as error:
        return str(error)


def says(family: str, key: str, name: str) -> Any:
    """Return what a component declares under a name, without importing it; None if it declares nothing.

    So a verifier learns what a method promises without running its code.

    >>> says("partition", "mic1d", "promises_k"), says("partition", "mdav", "promises_k")
    (False, True)
    """
    if key not in keys(family):
        raise ParameterError(unknown(family, "file", key, keys(family)))
    value = _declares(family, key).get(name)
    return tuple(value) if isinstance(value, list) else value


@overload
def load(family: Literal["partition"], key: str) -> type[Partitioner]: ...
@overload
def load(family: Literal["release"], key: str) -> type[Releaser]: ...
@overload
def load(family: Literal["steer"], key: str) -> type[Steering]: ...
@overload
def load(family: Literal["attack"], key: str) -> type[Attack]: ...
@overload
def load(family: Literal["stream.partition"], key: str) -> type[StreamMethod]: ...
@overload
def load(family: Literal["stream.channels"], key: str) -> type[Channel]: ...
@overload
def load(family: str, key: str) -> Any: ...


def load(family: str, key: str) -> Any:
    """Import a component and return its class.

    Raises
    ------
    ParameterError
        If the family has no such component, or its package cannot be used.
    """
    if key not in keys(family):
        raise ParameterError(unknown(family, "file", key, keys(family)))
    _refuse(family, key)
    return _plugged(family, key) if key in _plugins(family) else _class(f"shoal.{family}.{key}", key)


@cache
def declared(family: str, claim: str) -> dict[str, str]:
    """Return the suffixes, schemes or kinds that a family's components declare, each with its key.

    >>> declared("io.sources", "suffixes")[".csv"], declared("points", "kinds")["nominal"]
    ('csv', 'nominal')
    """
    found = _declared(family, claim)
    for key in _plugins(family):
        for name in says(family, key, claim) or ():
            if name in found:
                raise ParameterError(
                    f"{_owner(_plugins(family)[key][0])} must claim something new; {name} already belongs to "
                    f"{found[name]!r}. Uninstall the package, or the other one."
                )
            found[name] = key
    return found


def _declared(family: str, claim: str) -> dict[str, str]:
    return {name: key for key in sorted(built_in(family)) for name in says(family, key, claim) or ()}


def for_kind(family: str, kind: str) -> Any:
    """Return the class of a family that claims a kind of attribute.

    >>> for_kind("points", "integer").__name__
    'Numeric'
    """
    return load(family, declared(family, "kinds")[kind])


def for_file(family: str, path: Path) -> Any:
    """Return the class of a family that claims a file's suffix.

    >>> for_file("io.sources", Path("people.CSV")).__name__
    'Csv'
    """
    for of in (_declared, declared):  # a package that cannot be used does not stand in the way of our own formats
        known = of(family, "suffixes")
        if fitting := [suffix for suffix in known if path.name.lower().endswith(suffix)]:
            return load(family, known[max(fitting, key=len)])
    if path.is_dir():
        raise ParameterError(f"{path}: must be a file, got a folder. Name a file in it.")
    allowed, end = ", ".join(sorted(known)), path.suffix or "no suffix"
    raise ParameterError(f"{path}: the name must end in {allowed}, got {end}. Rename or convert it.")


@overload
def for_place(family: Literal["io.sources"], at: Any) -> type[Source]: ...
@overload
def for_place(family: Literal["io.sinks"], at: Any) -> type[Sink]: ...


def for_place(family: str, at: Any) -> Any:
    """Return the class of a family that claims a place: a file by its suffix, a URL by its scheme.

    A staged target has the scheme of its final URL.
    """
    if isinstance(at, Path):
        return for_file(family, at)
    for of in (_declared, declared):
        known = of(family, "schemes")
        if at.scheme in known:
            return load(family, known[at.scheme])
    allowed = ", ".join(f"{scheme}://" for scheme in sorted(known))
    raise ParameterError(
        f"{at.scheme}://: a URL must begin with {allowed or 'nothing (none is supported)'}, got another. "
        "Name one of these, or a file."
    )


def camel(key: str) -> str:
    """Return the class name of a key.

    >>> camel("k_anonymity")
    'KAnonymity'
    """
    return "".join(part[:1].upper() + part[1:] for part in key.split("_"))


def described(cls: Any, module: str) -> dict[str, Any]:
    """Return what a component declares: the first line of its module, and its plain class attributes.

    Parameters are left out, and so is everything except truth values, numbers, texts and lists of texts.

    >>> from shoal.partition.mic1d import Mic1d
    >>> described(Mic1d, Mic1d.__module__)["promises_k"]
    False
    """
    import sys
    from dataclasses import fields, is_dataclass

    parameters = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    found: dict[str, Any] = {"summary": (sys.modules[module].__doc__ or "").partition("\n")[0]}
    for name in dir(cls):
        value = getattr(cls, name)
        if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
            value = [str(one) for one in value]
        if not name.startswith("_") and name not in parameters and isinstance(value, (bool, int, float, str, list)):
            found[name] = value
    return found


@cache
def _declares(family: str, key: str) -> dict[str, Any]:
    """Return what a component declares: by the index of its package, or else by its class."""
    plugin = _plugins(family).get(key)
    if plugin is None:
        found, module = _index().get(family, {}).get(key), f"shoal.{family}.{key}"
    else:
        found, module = _stated(plugin[0]), plugin[0].module
    return described(load(family, key), module) if found is None else found


@cache
def _index() -> dict[str, Any]:
    import json
    import pkgutil

    found: dict[str, Any] = json.loads(pkgutil.get_data("shoal", "_index.json") or b"{}")
    return found


@cache
def _plugins(family: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of installed packages by key; a key that is shoal's own is not among them."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in _entries(family):
        if entry.name not in built_in(family):
            found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


@cache
def _entries(family: str) -> tuple[EntryPoint, ...]:
    return tuple(_installed().select(group=f"shoal.{family}"))


@cache
def _installed() -> Any:
    from importlib.metadata import entry_points

    return entry_points()  # reads the metadata of every installed package, once


def _stated(entry: EntryPoint) -> dict[str, Any] | None:
    """Return the entry of a component in the ``shoal.json`` of its package, without importing the package."""
    import json
    from importlib.util import find_spec

    try:
        spec: Any = find_spec(entry.module.partition(".")[0])
        text = spec.loader.get_data(str(Path(next(iter(spec.submodule_search_locations)), "shoal.json")))
        found = json.loads(text)[entry.group.removeprefix("shoal.")][entry.name]
    except (AttributeError, KeyError, OSError, StopIteration, TypeError, ValueError):  # missing or damaged
        return None
    return found if isinstance(found, dict) and "summary" in found else None


def _refuse(family: str, key: str) -> None:
    """Refuse a key that two packages have, or that a package shares with shoal."""
    if key in built_in(family):
        for entry in _entries(family):
            if entry.name == key:
                raise ParameterError(_not_new(entry, key))
    elif len(entries := _plugins(family)[key]) > 1:
        owners = listing(sorted(_package(entry) for entry in entries))
        raise ParameterError(
            f"Packages {owners}: {key!r} in shoal.{family} must be in one of them only. Uninstall the others."
        )


def _not_new(entry: EntryPoint, name: str) -> str:
    return (
        f"{_owner(entry)} must have a new name; {name!r} is one of shoal's. "
        f"Uninstall the package, or ask its author to rename it."
    )


#: The contract that a component of another package must inherit; its defaults promise nothing.
_CONTRACTS = {
    "partition": "Partitioner",
    "privacy": "PrivacyModel",
    "utility": "Reads",
    "risk": "Reads",
    "release": "Releaser",
    "steer": "Steering",
    "attack": "Attack",
    "points": "Encoder",
    "io.sources": "Source",
    "io.sinks": "Sink",
}


def _plugged(family: str, key: str) -> Any:
    """Import the component of another package; any failure is a sentence that names the package."""
    (entry,) = _plugins(family)[key]
    try:
        cls = _class(entry.module, key)
    except Exception as error:
        raise ParameterError(
            f"{_owner(entry)} cannot be imported ({type(error).__name__}: {error}). "
            f"Repair the package, or uninstall it."
        ) from error
    contract = _CONTRACTS.get(family)
    base = None if contract is None else getattr(importlib.import_module("shoal.types.protocols"), contract)
    if base is not None and base not in cls.__mro__:
        raise ParameterError(
            f"{_owner(entry)} must inherit {contract} of shoal.types.protocols, but does not. Ask its author to add it."
        )
    for name in {key, getattr(cls, "short", key)} & _names(family):
        raise ParameterError(_not_new(entry, name))
    found = described(cls, entry.module)
    usual = {} if base is None else described(base, entry.module)
    newer = {name: value for name, value in usual.items() if found.get(name) == value}  # perhaps newer than the file
    if (stated := _stated(entry)) is not None and {**newer, **stated} != found:
        raise ParameterError(
            f"{_owner(entry)} does not declare what its shoal.json says. "
            f"Write the file again: python -m shoal.index {entry.module.partition('.')[0]}."
        )
    return cls


def _names(family: str) -> set[Any]:
    """Return the keys and short names of shoal's own components that are listed together with a family."""
    together = next((families for families in ROOMS.values() if family in families), (family,))
    found = [(one, key) for one in together for key in built_in(one)]
    return {name for one, key in found for name in (key, says(one, key, "short")) if name}


def _class(module: str, key: str) -> Any:
    return getattr(importlib.import_module(module), camel(key))


def package_in(error: BaseException) -> str:
    """Return the package of another author whose component raised an error; empty if it was shoal's own code."""
    owners = {entry.module: _package(entry) for family in FAMILIES for entry in _entries(family)}
    at, found = error.__traceback__, ""
    while at is not None:
        found = owners.get(at.tb_frame.f_globals.get("__name__", ""), found)
        at = at.tb_next
    return found


def _owner(entry: EntryPoint) -> str:
    return f"Package {_package(entry)}: {entry.name!r} in {entry.group}"


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module.partition(".")[0]
