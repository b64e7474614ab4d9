"""Folders published in an object store: parts first, then their read-back and audit, the manifest last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from shoal import secret
from shoal.errors import EngineError, GuaranteeError, ParameterError, listing
from shoal.io.manifest import MANIFEST, Part, digest_of
from shoal.io.stores.folder import StoreFolder, open_store
from shoal.io.stores.names import is_marker, marked_suffix, marker
from shoal.locations import Url

#: Formats of parts, as in local folders.
_PARTS = (".parquet", ".pq", ".csv", ".tsv", ".tab")


class Upload:
    """A folder of an object store that this run has marked as its own.

    Attributes
    ----------
    folder
        The folder.
    generation
        Random digits in the names of this run's parts.
    """

    def __init__(self, folder: StoreFolder, before: Sequence[str]) -> None:
        self.folder = folder
        self.generation = secret.fresh(8).hex()
        self._old = [name for name in before if name != MANIFEST and not name.startswith(".")]
        self._manifest = folder.read(MANIFEST) if MANIFEST in before else None
        self._sent: list[str] = []
        self._listed = False  # whether the manifest may be that of this run
        self._published = False

    def suffix(self, suffix: str) -> str:
        """Return the suffix of this run's parts."""
        return marked_suffix(self.generation, suffix)

    def mark(self) -> None:
        """Write the mark of an unfinished run; refuse the folder if another run began at the same time."""
        own = marker(self.generation)
        self.folder.write(own, b"A run of shoal is writing to this folder, or was interrupted.\n")
        known = {own, MANIFEST, *self._old}
        if any(name not in known and not name.startswith(".") for name in self.folder.entries()):
            raise ParameterError(
                f"{self.folder.url}: another run is writing to this folder. Wait until it ends, or choose another."
            )

    def publish(self, staged: Path, parts: Sequence[Part], audit: Callable[[], object]) -> str:
        """Copy parts to the store, read them back into their local files, audit these, and write the manifest.

        Returns a note about replaced files that could not be deleted, mostly an empty one.

        Raises
        ------
        GuaranteeError
            If the bytes in the store are not those that were copied, or if `audit` raises it.
        """
        for part in parts:
            self._sent.append(part.name)
            self.folder.upload(staged / part.name, part.name)
            (staged / part.name).unlink()
        for part in parts:
            self.folder.download(part.name, staged / part.name)
            if digest_of(staged / part.name) != part.sha256:
                raise GuaranteeError(
                    f"{self.folder.url}: every part must be stored with the bytes that were audited, but the SHA-256 "
                    f"of {part.name!r} differs. Nothing was published. Try again, and check the store."
                )
        audit()
        self._listed = True
        content = (staged / MANIFEST).read_bytes()
        self.folder.write(MANIFEST, content)
        if self.folder.read(MANIFEST) != content:
            raise GuaranteeError(
                f"{self.folder.url}: {MANIFEST} must be stored as it was written, got another one. Nothing was "
                "published. Try again when no other run writes to the folder."
            )
        self._published = True
        return self._removed()

    def _removed(self) -> str:
        """Delete what the manifest replaces, the mark last; return a note if that is not possible."""
        try:
            self.folder.delete([*self._old, marker(self.generation)])
        except EngineError:
            return (
                f"{self.folder.url}: the release is published, but files that it replaces could not all be deleted. "
                f"Delete files that {MANIFEST} does not list: readers that ignore it would read them."
            )
        return ""

    def withdraw(self) -> None:
        """Delete everything that this run wrote, unless it is published: the manifest first, the mark last."""
        if self._published:
            return
        if self._listed and self._manifest is not None:
            self.folder.write(MANIFEST, self._manifest)
        elif self._listed:
            self.folder.delete([MANIFEST])
        self.folder.delete([*self._sent, marker(self.generation)])


@contextmanager
def reserved(url: Url, *, force: bool) -> Iterator[Upload]:
    """Mark a folder of an object store as unfinished, for a run that publishes a release there.

    Guarantee: the manifest is written after everything else and names exactly the parts of one audited release. If the
    block ends with an exception, everything that it wrote is deleted. If the run is killed, or the store cannot be
    reached any more, the mark of an unfinished run remains: a folder with it and without a manifest is refused
    by :func:`~shoal.io.stores.download.local_copy`, and one with an older manifest is read as that manifest says.

    Raises
    ------
    ParameterError
        If the folder is not empty and `force` is not given, or if it holds other files.
    EngineError
        If the store cannot be used.
    """
    folder = open_store(url)
    upload = Upload(folder, check_store_folder(folder, force=force))
    try:
        upload.mark()
        yield upload
    except BaseException:
        with suppress(EngineError):  # the first error counts; the mark tells that the folder is incomplete
            upload.withdraw()
        raise


def check_store_folder(folder: StoreFolder, *, force: bool) -> list[str]:
    """Return the names in a folder that may be written to; refuse one that must not be replaced."""
    if folder.kind() == "file":
        raise ParameterError(f"{folder.url}: must be a folder, got a file. Choose another name, or remove the file.")
    entries = folder.entries()
    if entries and not force:
        unfinished = MANIFEST not in entries and any(is_marker(name) for name in entries)
        what = "holds the files of a run that is working or was interrupted" if unfinished else "already exists"
        raise ParameterError(f"{folder.url}: {what}; give --force to replace it, or another name.")
    foreign = [name for name, size in entries.items() if size is None or not _is_ours(name)]
    if foreign:
        raise ParameterError(
            f"{folder.url}: a folder that is replaced must hold only tables ({', '.join(_PARTS)}), {MANIFEST} and "
            f"hidden files, got {listing([repr(name) for name in foreign], most=5)}. Choose another folder, or move "
            "them."
        )
    return list(entries)


def _is_ours(name: str) -> bool:
    """Tell whether a file may be deleted with its folder."""
    return name == MANIFEST or is_marker(name) or name.startswith(".") or name.lower().endswith(_PARTS)
