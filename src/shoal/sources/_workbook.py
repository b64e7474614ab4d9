"""What a reader of workbooks passes over silently: merged cells, and formulas that were never computed."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

_MERGED = re.compile(rb"<(?:\w+:)?mergeCell\s[^>]*\bref=\"([A-Z]+[0-9]+:[A-Z]+[0-9]+)\"")
_UNCOMPUTED = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)>\s*<(?:\w+:)?f(?:\s[^>]*)?(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_SHEET = re.compile(rb"<(?:\w+:)?sheet\s([^>]*)>")
_RELATION = re.compile(rb"<(?:\w+:)?Relationship\s([^>]*)>")
_ATTRIBUTE = re.compile(rb"([\w:]+)=\"([^\"]*)\"")


def hidden_traps(path: Path, place: int) -> tuple[int, int]:
    """Return how many merged ranges, and how many formulas without a value, the sheet at a place (from 0) has."""
    with zipfile.ZipFile(path) as archive:
        sheets = [_attributes(text) for text in _SHEET.findall(archive.read("xl/workbook.xml"))]
        relations = [_attributes(text) for text in _RELATION.findall(archive.read("xl/_rels/workbook.xml.rels"))]
        targets = {one.get("Id"): one.get("Target", "") for one in relations}
        target = targets[next(value for name, value in sheets[place].items() if name.endswith(":id"))]
        text = archive.read(target.lstrip("/") if target.startswith("/") else f"xl/{target}")
    # a text that is empty is a value
    lacking = [found for found in _UNCOMPUTED.findall(text) if b't="str"' not in found]
    return len(_MERGED.findall(text)), len(lacking)


def _attributes(text: bytes) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in _ATTRIBUTE.findall(text)}
