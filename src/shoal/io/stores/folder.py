"""Files and folders of an object store (S3, Google Cloud Storage, Azure), addressed by URL through pyarrow."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import EngineError, ParameterError
from shoal.locations import Url

_PIECE = 1 << 23
_PENDING = 8  # pieces that may be on their way to the store at the same time
_OWN_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_PATIENCE = "retry_limit_seconds"  # an option of Google's store, which otherwise retries for 15 minutes

#: Words in the errors of stores, what they mean, and the remedy.
_MEANINGS = (
    (
        r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|bucket does not exist",
        "there is no such bucket",
        "Check its name",
    ),
    (
        r"ACCESS_DENIED|AccessDenied|INVALID_ACCESS_KEY|SIGNATURE|TOKEN|CREDENTIALS|Forbidden|PERMISSION_DENIED|"
        r"UNAUTHENTICATED|Authenti|HTTP status (401|403)|response code:? (401|403)",
        "the credentials are not accepted",
        "Set those of an account that may list, read, write and delete objects there",
    ),
    (
        r"NETWORK_CONNECTION|[Cc]ould ?n[o']t (connect|resolve)|UNAVAILABLE|[Tt]imed? ?out|REQUEST_TIMEOUT",
        "the store cannot be reached",
        "Check the network and the endpoint",
    ),
)


@dataclass(frozen=True)
class StoreFolder:
    """A file or folder of an object store.

    Attributes
    ----------
    url
        Its URL; messages show it without credentials.
    files
        The file system of pyarrow.
    path
        Its path there: the bucket, and the key.
    """

    url: Url
    files: Any = field(repr=False)
    path: str

    def kind(self) -> str:
        """Return ``file``, ``folder`` or ``nothing``; a bucket that does not exist is refused."""
        from pyarrow.fs import FileType

        with _sentences(self.url):
            found = self.files.get_file_info(self.path).type
            if found == FileType.NotFound and self.files.get_file_info(self._bucket).type == FileType.NotFound:
                raise _refusal(self.url, "there is no such bucket", "Check its name")
        return {FileType.File: "file", FileType.Directory: "folder"}.get(found, "nothing")

    @property
    def _bucket(self) -> str:
        return self.path.partition("/")[0]

    def entries(self) -> dict[str, int | None]:
        """Return the names in a folder with their sizes, sorted; the size of another folder is None."""
        from pyarrow.fs import FileSelector, FileType

        with _sentences(self.url):
            found = self.files.get_file_info(FileSelector(self.path, allow_not_found=True))
        sizes = {one.base_name: one.size if one.type == FileType.File else None for one in found}
        return dict(sorted(sizes.items()))

    def size(self) -> int:
        """Return the size of a file in bytes."""
        with _sentences(self.url):
            return int(self.files.get_file_info(self.path).size)

    def read(self, name: str) -> bytes:
        """Return the content of a small file of a folder."""
        with _sentences(self.url), self.files.open_input_stream(self._at(name), compression=None) as source:
            return bytes(source.read())

    def write(self, name: str, content: bytes) -> None:
        """Write a small file of a folder."""
        with _sentences(self.url), self.files.open_output_stream(self._at(name), compression=None) as into:
            into.write(content)

    def download(self, name: str | None, into: Path) -> None:
        """Copy a file of a folder, or the file itself, to a local file."""
        at = self.path if name is None else self._at(name)
        with (
            _sentences(self.url),
            self.files.open_input_stream(at, compression=None) as source,
            into.open("wb") as file,
        ):
            while piece := source.read(_PIECE):
                file.write(piece)

    def upload(self, file: Path, name: str) -> None:
        """Copy a local file into the folder, with few pieces in memory at a time."""
        with (
            _sentences(self.url),
            file.open("rb") as source,
            self.files.open_output_stream(self._at(name), compression=None) as into,
        ):
            for number, piece in enumerate(iter(lambda: source.read(_PIECE), b""), 1):
                into.write(piece)
                if number % _PENDING == 0:
                    into.flush()

    def delete(self, names: Iterable[str]) -> None:
        """Delete files of the folder; those that do not exist are skipped."""
        for name in names:
            with _sentences(self.url):
                try:
                    self.files.delete_file(self._at(name))
                except FileNotFoundError:
                    continue

    def _at(self, name: str) -> str:
        return f"{self.path}/{name}"


def open_store(url: Url) -> StoreFolder:
    """Return a file or folder of an object store; the store is not contacted unless pyarrow asks for a region.

    Raises
    ------
    ParameterError
        If pyarrow does not understand the URL, or was built without this store.
    EngineError
        If the store cannot be reached.
    """
    from pyarrow.fs import FileSystem

    address = url.address
    if url.scheme in ("gs", "gcs") and _PATIENCE not in address:
        address += f"{'&' if '?' in address else '?'}{_PATIENCE}=60"
    try:
        with _sentences(url):
            files, path = FileSystem.from_uri(address)
    except (ValueError, NotImplementedError):
        raise ParameterError(
            f"{url}: must be a URL that pyarrow understands, such as s3://bucket/folder/, got another, or one with an "
            "unknown option. Correct it, or install a newer pyarrow."
        ) from None
    if not path.strip("/"):
        raise ParameterError(f"{url}: must name a bucket, got none. Write for example s3://bucket/folder/.")
    return StoreFolder(url, files, path.rstrip("/"))


@contextmanager
def _sentences(url: Url) -> Iterator[None]:
    """Turn errors of a store into sentences; they never quote it, because it may repeat credentials."""
    try:
        yield
    except OSError as error:
        if error.errno in _OWN_DISK:  # of the local disk
            raise
        said = str(error)
        for pattern, why, remedy in _MEANINGS:
            if re.search(pattern, said):
                raise _refusal(url, why, remedy) from None
        code = re.search(r"AWS Error ([A-Z_]+)", said)
        why = f"the store answered {code[1]}" if code else "the store did not carry out the request"
        raise _refusal(url, why, "Try again, or ask those who run the store") from None


def _refusal(url: Url, why: str, remedy: str) -> EngineError:
    return EngineError(f"{url}: could not be used ({why}). {remedy}.")
