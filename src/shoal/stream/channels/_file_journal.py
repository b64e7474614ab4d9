"""Write-ahead journal: every step is stored here, whole and checksummed, before it is written to the output."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from shoal.errors import DataError
from shoal.types.stream import Cursor

_FRAME = struct.Struct("<II")  # length and CRC-32 of the payload
_SUFFIX = ".journal"


class Base(msgspec.Struct, frozen=True):
    """The state when a journal file was started; all of it was on disk by then."""

    fingerprint: str
    promises: dict[str, Any]
    cursor: Cursor
    out: int = 0  #: bytes in the output
    dead: int = 0  #: bytes in the dead-letter file
    digest: bytes = b""  #: of the input before the cursor's position
    finished: bool = False


class Step(msgspec.Struct, frozen=True):
    """The output of one step, and the cursor after it."""

    out: bytes
    dead: bytes
    cursor: Cursor
    digest: bytes
    finished: bool = False


class Journal:
    """Files in a folder; the one with the highest number counts: a base and the steps that followed it.

    **Guarantee.** A step is stored whole or not at all; `append` returns once it is on disk. A file becomes the highest
    only when its base is on disk. A torn record at the end, from a crash during writing, is not a step.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.size = 0
        self._number = 0
        self._file = -1

    @property
    def there(self) -> bool:
        """Whether the folder holds a journal, complete or not."""
        return any(self.folder.glob(f"*{_SUFFIX}"))

    def read(self) -> tuple[Base, list[Step]] | None:
        """Return the contents of the journal and open it for appending; None without a journal."""
        for path in sorted(self.folder.glob(f"*{_SUFFIX}"), reverse=True):
            found = list(_records(path.read_bytes()))
            if not found:
                continue
            try:
                base = msgspec.msgpack.decode(found[0][0], type=Base)
                steps = [msgspec.msgpack.decode(payload, type=Step) for payload, _ in found[1:]]
            except msgspec.DecodeError:
                break
            self._open(path, found[-1][1])
            return base, steps
        if self.there:
            raise DataError(f"{self.folder}: is damaged, and the stream cannot be continued. Choose another output.")
        return None

    def _open(self, path: Path, whole: int) -> None:
        self._number = int(path.stem)
        self._file = os.open(path, os.O_RDWR)
        os.ftruncate(self._file, whole)  # a torn record must not precede new ones
        os.lseek(self._file, 0, os.SEEK_END)
        self.size = whole

    def begin(self, base: Base) -> None:
        """Continue in a new file; the caller has made sure that all output is on disk."""
        before = self._file
        self._number += 1
        path = self.folder / f"{self._number:08d}{_SUFFIX}"
        staged = path.with_suffix(".staged")
        self._file = os.open(staged, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self.size = 0
        self._write(msgspec.msgpack.encode(base))
        os.replace(staged, path)
        sync_folder(self.folder)
        if before >= 0:
            os.close(before)
        for old in self.folder.glob(f"*{_SUFFIX}"):
            if old != path:
                old.unlink()

    def append(self, step: Step) -> None:
        """Store a step; once this returns, a crash cannot undo it."""
        self._write(msgspec.msgpack.encode(step))

    def _write(self, payload: bytes) -> None:
        try:
            write_all(self._file, _FRAME.pack(len(payload), zlib.crc32(payload)) + payload)
            os.fdatasync(self._file)
        except OSError:
            os.ftruncate(self._file, self.size)
            os.lseek(self._file, 0, os.SEEK_END)
            raise
        self.size += _FRAME.size + len(payload)

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def remove(self) -> None:
        """Delete a journal that records no output."""
        self.close()
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()


def _records(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield complete records, each with the byte after it, up to the first incomplete one."""
    at = 0
    while at + _FRAME.size <= len(data):
        length, check = _FRAME.unpack_from(data, at)
        payload = data[at + _FRAME.size : at + _FRAME.size + length]
        at += _FRAME.size + length
        if length == 0 or len(payload) < length or zlib.crc32(payload) != check:
            return
        yield payload, at


def write_all(file: int, data: bytes) -> None:
    """Write all bytes, even if the system accepts only part at a time."""
    done = os.write(file, data)
    while done < len(data):
        done += os.write(file, memoryview(data)[done:])


def sync_folder(folder: Path) -> None:
    """Flush a folder's directory entries to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
