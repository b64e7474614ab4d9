"""Manifest of a folder of files: their names, records, sizes and digests, by which an incomplete copy is noticed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shoal.errors import DataError, listing

MANIFEST = "_manifest.json"  #: like every name that begins with an underscore, readers of tables ignore it
_FORMAT = 1


class Part(NamedTuple):
    """A file of a folder."""

    name: str
    records: int
    bytes: int
    sha256: str


def write_manifest(folder: Path, columns: Sequence[str], parts: Sequence[Part]) -> None:
    """Write the manifest of a folder, after its files.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     write_manifest(Path(name), ["age"], [Part("a.csv", 1, 3, "00")])
    ...     json.loads(Path(name, MANIFEST).read_text())["files"]
    [{'name': 'a.csv', 'records': 1, 'bytes': 3, 'sha256': '00'}]
    """
    said = {"format": _FORMAT, "columns": list(columns), "files": [part._asdict() for part in parts]}
    (folder / MANIFEST).write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def check_manifest(folder: Path, files: Sequence[Path]) -> None:
    """Refuse a folder whose files are not those of its manifest; a folder without a manifest is accepted.

    Only names and sizes are compared: the digests are for those who want to compare every byte.

    Raises
    ------
    DataError
        If a file is missing, has another size, or is not listed; if the manifest is damaged.
    """
    if not (folder / MANIFEST).exists():
        return
    try:
        listed = _sizes(json.loads((folder / MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise DataError(
            f"{folder}: {MANIFEST} must be the list of files that shoal wrote, in format {_FORMAT}, got another or a "
            "part of it. Copy the folder again; rename the file if it is from another program."
        ) from None
    found = {file.name: file.stat().st_size for file in files if file.exists()}
    faults = {
        "missing": [name for name in listed if name not in found],
        "of another size": [name for name in listed if name in found and found[name] != listed[name]],
        "not listed": [name for name in found if name not in listed],
    }
    said = [f"{fault}: {listing([repr(n) for n in names], most=5)}" for fault, names in faults.items() if names]
    if said:
        raise DataError(
            f"{folder}: its files must be those that {MANIFEST} lists, got others ({'; '.join(said)}). Copy the folder "
            "again as a whole."
        )


def _sizes(said: Any) -> dict[str, int]:
    if said["format"] != _FORMAT:
        raise ValueError
    return {str(one["name"]): int(one["bytes"]) for one in said["files"]}
