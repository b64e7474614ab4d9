"""Index of components: what each declares, so that the registry lists them without importing them.

``python -m shoal.index`` writes ``_index.json``, the index of shoal. ``python -m shoal.index PACKAGE`` writes
``shoal.json`` into the folder of an installed package that plugs in through entry points.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from shoal import registry
from shoal.errors import ParameterError

Index = Mapping[str, Mapping[str, Mapping[str, Any]]]


def index_of_shoal() -> Index:
    """Import every component of shoal and return what it declares, by family and key."""
    return {
        family: {key: _declared(f"shoal.{family}.{key}", key) for key in sorted(registry.built_in(family))}
        for family in registry.FAMILIES
    }


def index_of(package: str) -> Index:
    """Import every component that a package plugs in and return what it declares, by family and key."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for family in registry.FAMILIES:
        for entry in entry_points(group=f"shoal.{family}"):
            if entry.module.partition(".")[0] == package:
                found.setdefault(family, {})[entry.name] = _declared(entry.module, entry.name)
    return found


def _declared(module: str, key: str) -> Mapping[str, Any]:
    cls = getattr(importlib.import_module(module), registry.camel(key), None)
    return registry.described(cls, module)


def written(index: Index) -> str:
    """Return an index as JSON, with a line for each component."""
    families = []
    for family, components in sorted(index.items()):
        lines = [f'  "{key}": {json.dumps(one, ensure_ascii=False)}' for key, one in sorted(components.items())]
        families.append(f' "{family}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(families) + "\n}\n"


def main(packages: list[str]) -> None:
    """Write the index of shoal, or those of some packages."""
    home = Path(__file__).parent
    if not packages:
        (home / "_index.json").write_text(written(index_of_shoal()), encoding="utf-8")
    for package in packages:
        try:
            folder = importlib.import_module(package).__path__[0]
            text = written(index_of(package))
        except Exception as error:  # whatever the code of a package raises
            raise ParameterError(
                f"Package {package}: cannot be imported ({type(error).__name__}: {error}). Install it with "
                "`pip install --editable`, and correct the module."
            ) from error
        Path(folder, "shoal.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if any(one.startswith("-") for one in sys.argv[1:]):
        sys.exit(__doc__)
    try:
        main(sys.argv[1:])
    except ParameterError as refused:
        sys.exit(f"shoal: {refused}")
