"""Taxonomies in files: a row for each leaf (CSV), nested groups (TOML, JSON), or classes and individuals (OWL)."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import DataError, ParameterError, listing
from shoal.types import Taxonomy

#: A taxonomy as nested groups, or as the path from the root to each value.
Found = Mapping[str, Any] | Taxonomy


def read_taxonomy(column: str, path: Path) -> Found:
    """Read the taxonomy of a column; what it is written in is told by the end of the file's name."""
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
    """Read a row for each leaf: the leaf, the group around it, the one around that, up to ``*``; as ARX writes it."""
    text = _text(column, path, raw)
    delimiter = ";" if text.partition("\n")[0].count(";") >= text.partition("\n")[0].count(",") else ","
    paths: dict[str, tuple[str, ...]] = {}
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
    widths = {len(row) for row in rows}
    if len(widths) > 1:
        raise DataError(
            f"Taxonomy of {column!r}: all rows of {path.name} must have as many cells, got {min(widths)} to "
            f"{max(widths)}. Give each leaf all its levels."
        )
    for number, row in enumerate(rows, 1):
        above = tuple(reversed([cell for cell in row[1:] if cell != "*"]))
        # a level that repeats the one below says nothing new
        groups = tuple(group for at, group in enumerate(above) if group != row[0] and group not in above[:at])
        if row[0] in paths and paths[row[0]] != groups:
            raise DataError(f"Taxonomy of {column!r}: the leaf of row {number} is there twice. Name it once.")
        paths[row[0]] = groups
    return _checked(column, path, paths)


def _toml(column: str, path: Path, raw: bytes) -> Found:
    try:
        return tomllib.loads(_text(column, path, raw))
    except tomllib.TOMLDecodeError:
        raise _damaged(column, path, "TOML") from None


def _json(column: str, path: Path, raw: bytes) -> Found:
    try:
        found: Mapping[str, Any] = json.loads(_text(column, path, raw))
    except ValueError:
        raise _damaged(column, path, "JSON") from None
    return found


def _owl(column: str, path: Path, raw: bytes) -> Found:
    """Read classes below classes (``subClassOf``), and individuals below classes (``type``)."""
    try:
        import rdflib
        from rdflib.namespace import OWL, RDF, RDFS
    except ImportError:
        raise ParameterError(
            f"Taxonomy of {column!r}: {path.name} needs rdflib, which is not there. Install shoal[owl]."
        ) from None
    graph = rdflib.Graph()
    try:
        graph.parse(data=raw, format="turtle" if path.suffix.lower() == ".ttl" else "xml")
    except Exception:  # each of its parsers has errors of its own, and they may quote the file
        raise _damaged(column, path, "OWL") from None
    above: dict[str, set[str]] = {}
    for child, parent in graph.subject_objects(RDFS.subClassOf):
        above.setdefault(_name(child), set()).add(_name(parent))
    for child in graph.subjects(RDF.type, OWL.NamedIndividual):
        above.setdefault(_name(child), set()).update(
            _name(parent) for parent in graph.objects(child, RDF.type) if parent != OWL.NamedIndividual
        )
    return _checked(column, path, _from_parents(column, path, above))


def _name(node: object) -> str:
    """Return what an IRI is called: what stands after its last # or /."""
    return str(node).rstrip("/#").replace("#", "/").rpartition("/")[2]


def _from_parents(column: str, path: Path, above: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """Return the path to every node; a node with others below it is also a value, within a group of its name."""
    twice = [name for name, parents in above.items() if len(parents) > 1]
    if twice:
        raise DataError(
            f"Taxonomy of {column!r}: {path.name} must be a tree, but {len(twice):,} of its nodes hang on several "
            f"others. Keep one of them."
        )
    parent = {name: next(iter(parents)) for name, parents in above.items()}
    inner = set(parent.values())
    paths = {}
    for name in parent:
        chain, at = [name], name
        while at in parent:
            at = parent[at]
            if at in chain:
                raise DataError(f"Taxonomy of {column!r}: {path.name} must be a tree, but goes round in a circle.")
            chain.append(at)
        groups = tuple(reversed(chain[:-1]))  # the last is the root
        paths[name] = groups if name in inner else groups[:-1]
    return paths


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
    return DataError(f"Taxonomy of {column!r}: {path.name} is no {what}, or is damaged. Correct it.")
