"""JSON Lines: one object per line; its fields are the columns."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from pyarrow import json

from shoal.errors import DataError
from shoal.io.sources._file import FileSource, read_bytes
from shoal.io.sources._text_rows import arrow_buffer
from shoal.parameters import Checked

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Jsonl(FileSource, Checked):
    """JSON Lines, as streams are written: an object per line; a field that a line lacks is missing.

    Numbers, text and booleans become columns of these types; fields that hold lists or objects become columns that
    cannot have a role.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    def _table(self, path: Path) -> pa.Table:
        text = read_bytes(path).removeprefix(_BOM)
        if not text.strip():
            raise DataError(
                f"{path.name}: must hold at least one line, got an empty file. Check that it is the right one."
            )
        longest = max(map(len, text.splitlines())) + 2
        reading = json.ReadOptions(use_threads=True, block_size=max(1 << 20, 2 * longest))
        with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):  # they contain values: do not chain them
            return json.read_json(pa.BufferReader(arrow_buffer(text)), read_options=reading)
        raise DataError(
            f"{path.name}: every line must be a JSON object, and a field must be of one type in all of them. "
            "Correct it, or convert it."
        )
