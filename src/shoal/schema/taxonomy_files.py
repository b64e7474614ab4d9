"""Taxonomies in files: a row for each leaf (CSV), nested groups (TOML, JSON), or classes and individuals (OWL)."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import DataError, ParameterError, listing, raise_all
from shoal.types import Taxonomy, called

#: A taxonomy as nested groups, or as the path from the root to each value.
Found = Mapping[str, Any] | Taxonomy
_THING = "Thing"  # OWL's class above all others


def read_taxonomy(column: str, path: Path) -> Found:
    """Read the taxonomy of a column; the suffix of the file name determines the format."""
    readers: dict[str, Callable[[str, Path, bytes], Found]] = {
        ".csv": _csv,
        ".toml": _toml,
        ".json": _json,
        ".owl": _owl,
        ".rdf": _owl,
        ".xml": _owl,
        ".ttl": _owl,
    }
    if path.suffix.lower() not in readers:
        raise ParameterError(
            f"Taxonomy of {column!r}: the file's name must end in {listing(sorted(readers))}, got "
            f"{path.suffix or 'no suffix'}. Rename or convert it."
        )
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"Taxonomy of {column!r}: {path} cannot be read ({error.strerror}). Check the path.") from None
    return readers[path.suffix.lower()](column, path, raw)


def _csv(column: str, path: Path, raw: bytes) -> Found:
    """Read a row for each leaf: the leaf, its group, the group above, up to ``*``; the format of ARX."""
    text = _text(column, path, raw)
    first = text.lstrip().partition("\n")[0]
    try:
        read = list(csv.reader(io.StringIO(text), delimiter=";" if first.count(";") >= first.count(",") else ","))
    except csv.Error:
        raise _damaged(column, path, "CSV") from None
    rows = [row for row in ([cell.strip() for cell in cells] for cells in read) if any(row)]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise DataError(
            f"Taxonomy of {column!r}: all rows of {path.name} must have the same number of cells, got {min(widths)} "
            f"to {max(widths)}. Give each leaf all its levels."
        )
    if lacking := sum(not all(row) for row in rows):
        raise DataError(
            f"Taxonomy of {column!r}: cells of {path.name} must not be empty; {lacking:,} of {len(rows):,} rows have "
            "empty ones. Give each leaf all its levels; where there is no group, repeat the level below."
        )
    paths: dict[str, tuple[str, ...]] = {}
    for number, row in enumerate(rows, 1):
        above = tuple(reversed([cell for cell in row[1:] if cell != "*"]))
        # a level that repeats the one below adds nothing
        groups = tuple(group for at, group in enumerate(above) if group != row[0] and group not in above[:at])
        if row[0] in paths and paths[row[0]] != groups:
            raise DataError(f"Taxonomy of {column!r}: the leaf of row {number} occurs twice. Name it once.")
        paths[row[0]] = groups
    over = {(path[at], path[:at]) for path in paths.values() for at in range(len(path))}
    _refuse_several(column, path, len(over) - len({group for group, _ in over}))
    return _checked(column, path, paths)


def _toml(column: str, path: Path, raw: bytes) -> Found:
    try:
        return tomllib.loads(_text(column, path, raw))
    except (tomllib.TOMLDecodeError, RecursionError):
        raise _damaged(column, path, "TOML") from None


def _json(column: str, path: Path, raw: bytes) -> Found:
    try:
        found: Mapping[str, Any] = json.loads(_text(column, path, raw), object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise _damaged(column, path, "JSON") from None
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a table, refusing duplicate names: the first would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _owl(column: str, path: Path, raw: bytes) -> Found:
    """Read classes below classes (``subClassOf``), and individuals below classes (``type``)."""
    try:
        import rdflib
        from rdflib.namespace import OWL, RDF, RDFS
    except ImportError:
        raise ParameterError(
            f"Taxonomy of {column!r}: {path.name} needs rdflib. Install it with pip install 'shoal[owl]'."
        ) from None
    graph = rdflib.Graph()
    try:
        graph.parse(data=raw, format="turtle" if path.suffix.lower() == ".ttl" else "xml")
    except Exception:  # each of its parsers has its own errors, which may quote the file
        raise _damaged(column, path, "OWL") from None
    links = [*graph.subject_objects(RDFS.subClassOf)]
    links += [
        (child, parent)
        for child in graph.subjects(RDF.type, OWL.NamedIndividual)
        for parent in graph.objects(child, RDF.type)
        if parent != OWL.NamedIndividual
    ]
    above: dict[str, set[str]] = {}
    for child, parent in links:
        if isinstance(child, rdflib.URIRef) and isinstance(parent, rdflib.URIRef):  # named nodes only: no restrictions
            above.setdefault(_name(child), set()).add(_name(parent))
    for parents in above.values():
        if len(parents) > 1:
            parents.discard(_THING)  # it is above everything anyway
    return _checked(column, path, _from_parents(column, path, above))


def _name(node: object) -> str:
    """Return the name of an IRI: the part after its last # or /."""
    return str(node).rstrip("/#").replace("#", "/").rpartition("/")[2]


def _from_parents(column: str, path: Path, above: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """Return the path to every node; a node with others below it is also a value, within a group of its name."""
    _refuse_several(column, path, sum(len(parents) > 1 for parents in above.values()))
    parent = {name: next(iter(parents)) for name, parents in above.items()}
    inner = set(parent.values())
    roots = inner - set(parent)
    top = roots if len(roots) == 1 else {_THING}  # several trees side by side
    paths = {}
    for name in parent:
        chain, at = [name], name
        while at in parent:
            at = parent[at]
            if at in chain:
                raise DataError(f"Taxonomy of {column!r}: {path.name} must be a tree, but contains a cycle.")
            chain.append(at)
        groups = tuple(reversed(chain[:-1] if chain[-1] in top else chain))
        paths[name] = groups if name in inner else groups[:-1]
    return paths


def _refuse_several(column: str, path: Path, several: int) -> None:
    if several:
        raise DataError(
            f"Taxonomy of {column!r}: {path.name} must be a tree, but {several:,} of its nodes have several parents. "
            "Keep one parent of each."
        )


def _checked(column: str, path: Path, paths: dict[str, tuple[str, ...]]) -> Taxonomy:
    if not paths:
        raise DataError(f"Taxonomy of {column!r}: {path.name} must hold at least one value, got none.")
    return Taxonomy(paths)


def _text(column: str, path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"Taxonomy of {column!r}: {path.name} must be UTF-8 text. Convert it.") from None


def _damaged(column: str, path: Path, what: str) -> DataError:
    return DataError(f"Taxonomy of {column!r}: {path.name} is not {what}, or is damaged. Correct it.")


def taxonomy_of(name: str, nested: Mapping[str, Any] | str) -> Taxonomy:
    """Return the taxonomy of a column: nested groups, the innermost ones lists of values; or from a file.

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
