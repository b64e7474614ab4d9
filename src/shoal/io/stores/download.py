"""Local copies of files and folders in an object store, for everything that reads files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.errors import DataError, EngineError, listing
from shoal.io.manifest import MANIFEST, read_manifest
from shoal.io.stores.folder import StoreFolder, open_store
from shoal.io.stores.names import is_marker, is_of_a_generation
from shoal.locations import Place, Url
from shoal.memory import gigabytes


def local_copy(place: Place, scratch: Path) -> Place:
    """Copy a file or folder from an object store into an empty local folder, under its own name.

    If a folder has a manifest, parts of other generations, which it does not list, are not copied.

    Raises
    ------
    DataError
        If there is nothing of that name; if a folder holds other folders, or an unfinished upload.
    EngineError
        If the store cannot be used, or the local disk is too small.
    """
    url = place.at
    assert isinstance(url, Url)
    stored = open_store(url)
    kind = "folder" if place.folder else stored.kind()
    entries = stored.entries() if kind == "folder" else {}
    if kind == "nothing" or (kind == "folder" and not entries and stored.kind() != "folder"):
        raise DataError(f"{url}: there is no such file or folder in the store. Check the URL.")
    target = scratch / Path(stored.path).name
    if kind == "file":
        _refuse_small_disk(url, stored.size(), scratch)
        stored.download(None, target)
    else:
        sizes = _wanted(stored, entries)
        _refuse_small_disk(url, sum(sizes.values()), scratch)
        target.mkdir()
        for name in sizes:
            stored.download(name, target / name)
    return replace(place, at=target, origin=url)


def published_parts(url: Url) -> tuple[Any, list[str]]:
    """Return the file system of pyarrow and the paths of the parts that the manifest of a folder lists."""
    folder = open_store(url)
    parts = read_manifest(url, folder.read(MANIFEST))
    return folder.files, [f"{folder.path}/{part.name}" for part in parts]


def _wanted(folder: StoreFolder, entries: Mapping[str, int | None]) -> dict[str, int]:
    """Return the files of a folder that count, with their sizes."""
    if folders := [repr(name) for name, size in entries.items() if size is None]:
        raise DataError(
            f"{folder.url}: a folder of files must not hold other folders, got {listing(folders)}. Move the files into "
            "one."
        )
    if MANIFEST not in entries and any(is_marker(name) for name in entries):
        raise DataError(
            f"{folder.url}: must be complete, but a run of shoal is still writing to it or was interrupted. Wait until "
            "the run ends, or repeat it with --force."
        )
    sizes = {name: size for name, size in entries.items() if size is not None and not name.startswith((".", "_"))}
    if MANIFEST in entries:
        listed = {part.name for part in read_manifest(folder.url, folder.read(MANIFEST))}
        sizes = {name: size for name, size in sizes.items() if name in listed or not is_of_a_generation(name)}
        sizes[MANIFEST] = entries[MANIFEST] or 0
    return sizes


def _refuse_small_disk(url: Url, size: int, scratch: Path) -> None:
    free = shutil.disk_usage(scratch).free
    if size > free:
        raise EngineError(
            f"{url}: a local copy needs {gigabytes(size)} in {scratch.parent}, and {gigabytes(free)} are free. Free "
            "some space, or set SHOAL_SCRATCH to a folder on another disk."
        )
