"""Migration of recipe files without a version: keeps their method and scaling, and notes new safe defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NO_VERSION = "The recipe has no version"


def migrated(values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the values of a recipe file in the current version, and a note on every change.

    >>> migrated({"quasi": ["age"], "row_order": "keep", "exact_means": True})[0]["method"]
    'mdav'
    >>> migrated({"quasi": ["age"], "version": 1})
    ({'quasi': ['age'], 'version': 1}, ())
    """
    if "version" in values:
        return dict(values), ()
    found = dict(values)
    notes = [*_written(found), *_safer(values)]
    return found, tuple(f"{_NO_VERSION}: {note}" for note in notes)


def _written(values: dict[str, Any]) -> list[str]:
    """Add the method and the scaling that a file without a version implies."""
    notes = []
    if not values.get("method"):
        values["method"] = "auto" if values.get("require") or values.get("t") is not None else "mdav"
        notes.append(f"method = {values['method']} is kept. Write it into the file, with version = 1.")
    given = values.get("set", {})
    if isinstance(given, Mapping) and "scale" not in given and values.get("claim") != "original":  # no scale there
        values["set"] = {**given, "scale": "standard"}
        notes.append("scale = standard is kept. Write it into the file under [set].")
    return notes


def _safer(values: Mapping[str, Any]) -> list[str]:
    """Name the safe defaults that were added after the first recipes, where they apply."""
    notes = []
    if not values.keys() & {"exact_means", "resolution"}:
        notes.append("means have no more digits than their column. exact_means = true releases all digits.")
    if "row_order" not in values:
        notes.append("sorted files are shuffled if their order reveals something. row_order = keep keeps it.")
    if "weight" in values and "release_weight" not in values:
        notes.append("weights are released as the mean of their class. release_weight = record releases each.")
    if values.keys() & {"subject", "together"} and "subject_exact" not in values:
        notes.append("Ann and ANN are one person. subject_exact = true counts every spelling.")
    return notes
