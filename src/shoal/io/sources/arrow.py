"""Apache Arrow and Feather files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from shoal.io.sources._file import FileSource, damaged, read_bytes

_FILE_MAGIC = b"ARROW1"


@dataclass(frozen=True)
class Arrow(FileSource):
    """Apache Arrow and Feather files: the IPC file format, or the stream format if it begins like one."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")

    def _table(self, path: Path) -> pa.Table:
        raw = read_bytes(path)
        try:
            opened = pa.ipc.open_file(raw) if raw.startswith(_FILE_MAGIC) else pa.ipc.open_stream(raw)
            with opened:
                table = opened.read_all()
            table.validate(full=True)
        except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError):
            raise damaged(path, "Arrow") from None
        return table

    def properties(self, path: Path) -> dict[str, str]:
        """Return the names of all entries in the file's footer."""
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as opened:
            entries = {**(opened.schema.metadata or {}), **(opened.metadata or {})}
        return {f"footer:{key.decode(errors='replace')}": "" for key in entries}
