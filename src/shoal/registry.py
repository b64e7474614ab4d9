"""What there is, by file name: ``partition/mdav.py`` holds ``Mdav`` and is called ``mdav`` everywhere.

Listing a room reads its folder and the first line of each file's docstring; nothing is imported until it is
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

#: What a user calls the things, and the rooms they live in.
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
    """Return the keys of a room: its file names.

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
    """Return what the class of a file says of itself in one word or number, without importing it; None: nothing.

    So a verifier learns what a method promises without the code that does it. A file is parsed once for each name,
    which keeps the parser out of the threads in which explore makes recipes.

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
            except ValueError:  # more than a word, a number or a few of them
                return None
    return None


def load(room: str, key: str) -> Any:
    """Import a file of a room and return its class.

    Raises
    ------
    ParameterError
        If the room has no such file.
    """
    if key not in keys(room):
        raise ParameterError(unknown(room, "file", key, keys(room)))
    module = importlib.import_module(f"shoal.{room}.{key}")
    return getattr(module, camel(key))


@cache
def claims(room: str, claim: str) -> dict[Any, Any]:
    """Return what the classes of a room claim, and which one claims it.

    An encoder claims kinds of attributes: a new one is found because it is there.
    """
    found: dict[Any, Any] = {}
    for key in keys(room):
        cls = getattr(importlib.import_module(f"shoal.{room}.{key}"), camel(key), None)
        found.update(dict.fromkeys(getattr(cls, claim, ()), cls))
    return found


@cache
def declared(room: str, claim: str) -> dict[str, str]:
    """Return the suffixes or schemes that the files of a room declare, each with its key; nothing is imported.

    >>> declared("io.sources", "suffixes")[".csv"]
    'csv'
    """
    return {name: key for key in keys(room) for name in says(room, key, claim) or ()}


def for_file(room: str, path: Path) -> Any:
    """Return the class of a room that claims the end of a file's name.

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
    """Return the class of a room that claims a place: a file by the end of its name, else a URL by its scheme.

    What a sink has staged has the scheme of the URL that it will have.
    """
    if isinstance(at, Path):
        return for_file(room, at)
    known = declared(room, "schemes")
    if at.scheme not in known:
        allowed = ", ".join(f"{scheme}://" for scheme in sorted(known))
        raise ParameterError(
            f"{at.scheme}://: a URL must begin with {allowed or 'nothing, for there is none'}, got another. "
            "Name one of these, or a file."
        )
    return load(room, known[at.scheme])


def package(name: str, extra: str, owner: object) -> Any:
    """Import a package that not everybody has, or say how to get it."""
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
