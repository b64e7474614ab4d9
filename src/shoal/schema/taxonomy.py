"""Taxonomies: nested groups of values, as a recipe writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, raise_all
from shoal.schema.taxonomy_files import read_taxonomy
from shoal.types import Taxonomy, called


def taxonomy_of(name: str, nested: Mapping[str, Any] | str) -> Taxonomy:
    """Return the taxonomy of a column: groups within groups, the innermost ones lists of values; or in a file.

    >>> nested = {"lungs": ["flu", "asthma"], "stomach": {"mild": ["gastritis"], "severe": ["ulcer"]}}
    >>> taxonomy_of("illness", nested).paths["ulcer"]
    ('stomach', 'severe')
    """
    if isinstance(nested, str):
        found = read_taxonomy(name, Path(nested))
        if isinstance(found, Taxonomy):
            return found
        nested = found
    paths: dict[str, tuple[str, ...]] = {}
    faults = []
    for leaf, path in _leaves(name, nested, ()):
        if leaf in paths:
            faults.append(f"Taxonomy of {name!r}: a value of group {path[-1]!r} is also in another. Name it once.")
        paths[leaf] = path
    if not paths:
        faults.append(f"Taxonomy of {name!r}: must hold at least one value, got none. List the values of each group.")
    raise_all(ParameterError, faults)
    return Taxonomy(paths)


def _leaves(name: str, nested: Any, path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if isinstance(nested, Mapping):
        for group, inner in nested.items():
            yield from _leaves(name, inner, (*path, str(group)))
    elif isinstance(nested, Sequence) and not isinstance(nested, str) and path:
        for value in nested:
            if value is None or isinstance(value, (Mapping, list, tuple)):
                raise ParameterError(
                    f"Taxonomy of {name!r}: group {path[-1]!r} must be a list of values or a table of groups, not both."
                )
            yield called(value), path
    else:
        raise ParameterError(
            f"Taxonomy of {name!r}: must be groups of values, each a list of values or a table of groups. "
            f'Write it as in illness = {{ lungs = ["flu", "asthma"] }}.'
        )
