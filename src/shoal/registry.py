"""Registry of components by file name: ``partition/mdav.py`` holds ``Mdav``, with the key ``mdav`` everywhere.

Listing a family reads its folder and the first line of each file's docstring; a file is imported only when it is
chosen.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError
from shoal.parameters import unknown

_HOUSE = Path(__file__).parent

#: User-facing names of the families, and their packages.
ROOMS: dict[str, tuple[str, ...]] = {
    "methods": ("partition",),
    "models": ("privacy",),
    "measures": ("utility", "risk"),
    "releases": ("release",),
    "steerings": ("steer",),
}


def _folder(room: str) -> Path:
    """Return the folder of a family: ``io.sources`` is ``io/sources``."""
    return _HOUSE.joinpath(*room.split("."))


@cache
def keys(room: str) -> tuple[str, ...]:
    """Return the keys of a family: its file names.

    >>> "mdav" in keys("partition")
    True
    """
    return tuple(sorted(p.stem for p in _folder(room).glob("[a-z]*.py")))


def summary(room: str, key: str) -> str:
    """Return the first line of a file's docstring, without importing it."""
    import ast

    tree = ast.parse((_folder(room) / f"{key}.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n")[0]


@cache
def says(room: str, key: str, name: str) -> Any:
    """Return a literal class attribute of a file without importing it; None if it is not declared.

    So a verifier learns what a method promises without running its code. A file is parsed once for each name, which
    keeps the parser out of the threads in which explore makes recipes.

    >>> says("partition", "mic1d", "promises_k"), says("partition", "mdav", "promises_k")
    (False, None)
    """
    import ast

    if key not in keys(room):
        raise ParameterError(unknown(room, "file", key, keys(room)))
    tree = ast.parse((_folder(room) / f"{key}.py").read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == camel(key)]
    for node in (inner for cls in classes for inner in cls.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            try:
                return ast.literal_eval(node.value) if node.value is not None else None
            except ValueError:  # not a literal word, number or short list
                return None
    return None


def load(room: str, key: str) -> Any:
    """Import a file of a family and return its class.

    Raises
    ------
    ParameterError
        If the family has no such file.
    """
    if key not in keys(room):
        raise ParameterError(unknown(room, "file", key, keys(room)))
    module = importlib.import_module(f"shoal.{room}.{key}")
    return getattr(module, camel(key))


@cache
def claims(room: str, claim: str) -> dict[Any, Any]:
    """Return the claims of a family's classes, each with the class that makes it.

    An encoder claims kinds of attributes, so a new one is found without being registered.
    """
    found: dict[Any, Any] = {}
    for key in keys(room):
        cls = getattr(importlib.import_module(f"shoal.{room}.{key}"), camel(key), None)
        found.update(dict.fromkeys(getattr(cls, claim, ()), cls))
    return found


@cache
def declared(room: str, claim: str) -> dict[str, str]:
    """Return the suffixes or schemes that a family's files declare, each with its key; nothing is imported.

    >>> declared("io.sources", "suffixes")[".csv"]
    'csv'
    """
    return {name: key for key in keys(room) for name in says(room, key, claim) or ()}


def for_file(room: str, path: Path) -> Any:
    """Return the class of a family that claims a file's suffix.

    >>> for_file("io.sources", Path("people.CSV")).__name__
    'Csv'
    """
    known = declared(room, "suffixes")
    fitting = [suffix for suffix in known if path.name.lower().endswith(suffix)]
    if not fitting:
        allowed, end = ", ".join(sorted(known)), path.suffix or "no suffix"
        raise ParameterError(f"{path}: the name must end in {allowed}, got {end}. Rename or convert it.")
    return load(room, known[max(fitting, key=len)])


def for_place(room: str, at: Any) -> Any:
    """Return the class of a family that claims a place: a file by its suffix, a URL by its scheme.

    A staged target has the scheme of its final URL.
    """
    if isinstance(at, Path):
        return for_file(room, at)
    known = declared(room, "schemes")
    if at.scheme not in known:
        allowed = ", ".join(f"{scheme}://" for scheme in sorted(known))
        raise ParameterError(
            f"{at.scheme}://: a URL must begin with {allowed or 'nothing (none is supported)'}, got another. Name "
            "one of these, or a file."
        )
    return load(room, known[at.scheme])


def package(name: str, extra: str, owner: object) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != name.partition(".")[0]:
            raise
    raise ParameterError(f"{owner}: needs the package {name}. Install it with pip install 'shoal[{extra}]'.")


def camel(key: str) -> str:
    """Return the class name of a key.

    >>> camel("k_anonymity")
    'KAnonymity'
    """
    return "".join(part[:1].upper() + part[1:] for part in key.split("_"))
