"""Apache Arrow and Feather files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from shoal.errors import DataError
from shoal.io.sources._file import check_table, read_bytes
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


_FILE_MAGIC = b"ARROW1"


@dataclass(frozen=True)
class Arrow:
    """Apache Arrow and Feather files: the IPC file format, or the stream format if it begins like one."""

    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")

    def read(self, path: Path) -> tuple[pa.Table, Dialect | None]:
        """Return the file's table, and no dialect.

        Raises
        ------
        DataError
            If the file cannot be read, is damaged, or has no rows or columns.
        SchemaError
            If names of columns are empty or there twice.
        """
        import pyarrow as pa

        raw = read_bytes(path)
        try:
            opened = pa.ipc.open_file(raw) if raw.startswith(_FILE_MAGIC) else pa.ipc.open_stream(raw)
            with opened:
                table = opened.read_all()
            table.validate(full=True)
        except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError):
            raise DataError(f"{path.name}: is no Arrow file, or is damaged or cut short. Fetch it again.") from None
        return check_table(path.name, table), None

    def properties(self, path: Path) -> dict[str, str]:
        """Return the names of all entries in the file's footer."""
        import pyarrow as pa

        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as opened:
            entries = {**(opened.schema.metadata or {}), **(opened.metadata or {})}
        return {f"footer:{key.decode(errors='replace')}": "" for key in entries}
