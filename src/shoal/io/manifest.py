"""Manifest of a folder of files: their names, records, sizes and digests, by which an incomplete copy is noticed."""

from __future__ import annotations

import hashlib
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


def read_manifest(owner: object, content: bytes) -> list[Part]:
    """Return the files that a manifest lists; messages are about its `owner`, the folder.

    Raises
    ------
    DataError
        If it is damaged, or not a manifest of this format.
    """
    try:
        said = json.loads(content.decode("utf-8"))
        if said["format"] != _FORMAT:
            raise ValueError
        return [_part(one) for one in said["files"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError(
            f"{owner}: {MANIFEST} must be the list of files that shoal wrote, in format {_FORMAT}, got another or a "
            "part of it. Copy the folder again; rename the file if it is from another program."
        ) from None


def _part(said: Any) -> Part:
    return Part(str(said["name"]), int(said["records"]), int(said["bytes"]), str(said["sha256"]))


def check_manifest(folder: Path, files: Sequence[Path]) -> None:
    """Refuse a folder whose files are not those of its manifest; a folder without a manifest is accepted.

    Only names and sizes are compared; :func:`changed_files` compares every byte.

    Raises
    ------
    DataError
        If a file is missing, has another size, or is not listed; if the manifest is damaged.
    """
    parts = _listed(folder)
    if parts is None:
        return
    listed = {part.name: part.bytes for part in parts}
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


def changed_files(folder: Path) -> list[str] | None:
    """Return the files of a folder whose SHA-256 is not that of its manifest; None: it has no manifest."""
    parts = _listed(folder)
    return None if parts is None else [part.name for part in parts if digest_of(folder / part.name) != part.sha256]


def refuse_changed(folder: Path) -> None:
    """Refuse a folder with files whose bytes are not those of its manifest."""
    if changed := changed_files(folder):
        raise DataError(
            f"{folder}: the SHA-256 of every file must be that of {MANIFEST}, got others for "
            f"{listing([repr(name) for name in changed], most=5)}. Copy the folder again as a whole."
        )


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _listed(folder: Path) -> list[Part] | None:
    """Return the files that a folder's manifest lists; None: it has no manifest."""
    if not folder.is_dir() or not (folder / MANIFEST).exists():
        return None
    try:
        content = (folder / MANIFEST).read_bytes()
    except OSError:
        content = b""
    return read_manifest(folder, content)
