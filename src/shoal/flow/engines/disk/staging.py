"""Staged output of a run on disk: beside its final name, or in scratch if it goes to an object store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shoal.flow.stages.write import writes_folder
from shoal.io.sinks._folder import staged_folder
from shoal.locations import Place
from shoal.scratch import about, scratch_folder
from shoal.types.protocols import Sink

if TYPE_CHECKING:
    from shoal.io.stores.upload import Upload


class Staging(NamedTuple):
    """The places of a run on disk.

    Attributes
    ----------
    staged
        The output, a file or a folder, before it is published.
    scratch
        A folder for temporary data.
    path
        The final path; that of the staged folder if the output goes to an object store.
    upload
        The folder in the object store, if it goes there.
    """

    staged: Path
    scratch: Path
    path: Path
    upload: Upload | None = None

    def part_suffix(self, suffix: str) -> str:
        """Return the suffix of the parts of a folder."""
        return suffix if self.upload is None else self.upload.suffix(suffix)


@contextmanager
def staging(target: Place, source: Place, sink: Sink, *, force: bool) -> Iterator[Staging]:
    """Yield the places of a run; when the block ends, a local output gets its name."""
    if isinstance(target.at, Path):
        stage = staged_folder if writes_folder(target, source) else sink.staged
        with stage(target.at, force=force) as staged, scratch_folder(target.at) as scratch:
            yield Staging(staged, scratch, target.at)
        return
    from shoal.io.stores.upload import reserved

    with reserved(target.at, force=force) as upload, scratch_folder() as scratch:
        staged = scratch / "staged"
        staged.mkdir()
        with about(staged, target):
            yield Staging(staged, scratch, staged, upload)
