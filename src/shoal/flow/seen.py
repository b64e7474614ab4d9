"""What a verifier is given: an evidence, and the tables that it is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import registry
from shoal.errors import DataError, ParameterError, listing
from shoal.flow.digests import Digest, of_file, of_table
from shoal.flow.reading import open_source
from shoal.parameters import build
from shoal.places import Place, beside
from shoal.report.evidence import Evidence
from shoal.sources._file import read_bytes
from shoal.types import Dialect

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Seen:
    """A table as a verifier finds it: what it is called, its cells, and where they are unless in memory."""

    name: str
    data: pa.Table = field(repr=False)
    dialect: Dialect | None = None
    place: Place | None = None

    def digest(self, of: str) -> Digest:
        """Return the digest of its bytes or of its content; of a table without bytes always of the content."""
        if of == "bytes" and self.place is not None and isinstance(self.place.at, Path):
            return of_file(self.place.at)
        return of_table(self.data)


def read_evidence(path: Path) -> Evidence:
    """Read an evidence from its file."""
    try:
        text = read_bytes(path).decode("utf-8")
        found = Evidence.read(path.name, text)
        bytes.fromhex(found["salt"])
    except ValueError:
        raise DataError(f"{path.name}: must be JSON in UTF-8, it is not. Give the file of --evidence.") from None
    return found


def outputs_of(said: Evidence, given: Any) -> list[Seen]:
    """Read the tables that an evidence is about: one, or two of which the second lies beside the first."""
    ends = said["outputs"]
    if not 1 <= len(ends) <= 2:
        raise DataError(f"Evidence: there must be one output or two, got {len(ends)}. Give the file as it was written.")
    if isinstance(given, Place):
        return [read_seen(said, place) for place in (given, *([beside(given)] if len(ends) == 2 else []))]
    frames = given if isinstance(given, (list, tuple)) else [given]
    if len(frames) != len(ends):
        raise ParameterError(f"verify: {len(ends)} tables left, got {len(frames)}. Give each of them, in a list.")
    return [frame_seen(frame, "frame") for frame in frames]


def read_seen(said: Evidence | None, place: Place) -> Seen:
    """Read a place; a text file as the evidence says that it is written."""
    source, text = registry.for_place("sources", place.at), None if said is None else said["text"]
    if text is not None and getattr(source, "textual", False):
        if place.options:
            raise ParameterError(
                f"{place.name}: the evidence says how it is written, so {listing(list(place.options))} cannot be set. "
                f"Leave it out."
            )
        try:
            reader = build(source, text)
        except ParameterError:
            raise DataError("Evidence: text must say how a text file is written, and does not.") from None
    else:
        reader = open_source(place, {})
    data, dialect = reader.read(place.at)
    return Seen(place.name, data, dialect, place)


def frame_seen(frame: Any, name: str) -> Seen:
    """Return a frame as a verifier finds it."""
    from shoal.sources.frame import Frame

    return Seen(name, Frame().read(frame)[0])
