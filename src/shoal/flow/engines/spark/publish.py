"""Outputs of the Spark engine: written to a hidden place, audited as written, and only then published."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

from shoal.errors import GuaranteeError, ParameterError
from shoal.flow.engines.spark.checks import contents
from shoal.flow.engines.spark.scratch import Scratch, for_spark, local_path, remove_path
from shoal.flow.evidence.receipt import of_file
from shoal.io.manifest import Part, write_manifest
from shoal.io.sinks._folder import staged_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Staged(Protocol):
    """A written output that is not visible yet."""

    @property
    def frame(self) -> DataFrame:
        """The output as it was written."""

    @property
    def folder(self) -> Path | None:
        """Its folder, if this process can read it."""


class Output(Protocol):
    """An output of the Spark engine."""

    @property
    def name(self) -> str:
        """Its name, for documents that others read."""

    def staged(self, frame: DataFrame, scratch: Scratch) -> AbstractContextManager[Staged]:
        """Write a DataFrame to a hidden place; when the block ends, publish it."""

    def data(self, staged: Staged) -> DataFrame:
        """Return the published output."""

    def reads_from(self, frame: DataFrame) -> bool:
        """Tell whether a DataFrame reads files that publishing would replace."""


@dataclass(frozen=True)
class _Hidden:
    """A written output that is not visible yet."""

    frame: DataFrame
    folder: Path | None = None


@dataclass(frozen=True)
class Folder:
    """A folder of Parquet files that driver and workers reach under the same path; published by renaming it."""

    path: Path
    force: bool = False

    @property
    def name(self) -> str:
        """Its name without the folders above."""
        return self.path.name

    @contextmanager
    def staged(self, frame: DataFrame, scratch: Scratch) -> Iterator[_Hidden]:
        """Write a DataFrame to a hidden folder; when the block ends, the folder gets its name."""
        with staged_folder(self.path, force=self.force) as folder:
            parts = folder / "parts"  # Spark warns of folders with a hidden name
            frame.write.parquet(for_spark(parts))
            _tidy(parts)
            yield _Hidden(frame.sparkSession.read.parquet(for_spark(parts)), parts)
            for path in list(parts.iterdir()):
                path.rename(folder / path.name)
            parts.rmdir()
            _list_parts(folder, frame.columns)

    def data(self, staged: Staged) -> DataFrame:
        """Return the published output."""
        return staged.frame.sparkSession.read.parquet(for_spark(self.path))

    def reads_from(self, frame: DataFrame) -> bool:
        """Tell whether a DataFrame reads files that publishing would replace."""
        folder = Path(os.path.realpath(self.path))
        read = [local_path(unquote(one)) for one in frame.inputFiles()]
        return any(one is not None and folder in Path(os.path.realpath(one)).parents for one in read)


@dataclass(frozen=True)
class CatalogTable:
    """A table of a catalog; published by replacing it with the audited rows, in its own format."""

    table: str
    form: str = "parquet"
    force: bool = False

    @property
    def name(self) -> str:
        """Its name."""
        return self.table

    @contextmanager
    def staged(self, frame: DataFrame, scratch: Scratch) -> Iterator[_Hidden]:
        """Write a DataFrame to scratch; when the block ends, replace the table with what was audited there."""
        session = frame.sparkSession
        if not self.force and session.catalog.tableExists(self.table):
            raise ParameterError(f"{self.table}: the table exists. Choose another name, or replace it with force.")
        written = scratch.written(frame)
        yield _Hidden(written)
        written.write.format(self.form).mode("overwrite" if self.force else "errorifexists").saveAsTable(self.table)
        if contents(session.table(self.table), frame.columns) != contents(written, frame.columns):
            session.sql(f"DROP TABLE IF EXISTS {self.table}")
            raise GuaranteeError(f"{self.table}: the table differs from what was audited, and was dropped.")

    def data(self, staged: Staged) -> DataFrame:
        """Return the published output."""
        return staged.frame.sparkSession.table(self.table)

    def reads_from(self, frame: DataFrame) -> bool:
        """Tell whether a DataFrame reads files that publishing would replace."""
        session = frame.sparkSession
        exists = session.catalog.tableExists(self.table)
        return exists and not set(frame.inputFiles()).isdisjoint(session.table(self.table).inputFiles())


@dataclass(frozen=True)
class StoreFolder:
    """A folder of an object store, which cannot be renamed; complete when its manifest is there, which comes last."""

    uri: str
    force: bool = False

    @property
    def name(self) -> str:
        """Its name without the folders above."""
        return self.uri.rstrip("/").rpartition("/")[2]

    @contextmanager
    def staged(self, frame: DataFrame, scratch: Scratch) -> Iterator[_Hidden]:
        """Write a DataFrame to scratch; when the block ends, copy what was audited, check the copy, and list it."""
        session = frame.sparkSession
        written = scratch.written(frame)
        yield _Hidden(written)
        audited = contents(written, frame.columns)
        written.write.mode("overwrite" if self.force else "errorifexists").parquet(self.uri)
        copy = session.read.parquet(self.uri)
        if contents(copy, frame.columns) != audited:
            remove_path(self.uri)
            raise GuaranteeError(f"{self.uri}: the copy differs from what was audited, and was removed.")
        files = sorted(path.rpartition("/")[2] for path in copy.inputFiles())
        said = json.dumps({"format": 1, "columns": frame.columns, "records": audited.records, "files": files})
        session.createDataFrame([(said,)], "value string").coalesce(1).write.mode("overwrite").text(
            f"{self.uri.rstrip('/')}/_manifest"
        )

    def data(self, staged: Staged) -> DataFrame:
        """Return the published output."""
        return staged.frame.sparkSession.read.parquet(self.uri)

    def reads_from(self, frame: DataFrame) -> bool:
        """Tell whether a DataFrame reads files that publishing would replace."""
        folder = self.uri.rstrip("/").rpartition("://")[2]
        return any(f"{folder}/" in one for one in frame.inputFiles())


@dataclass(frozen=True)
class InScratch:
    """No output of its own: the audited rows stay in scratch, for the user to read."""

    name: str = ""

    @contextmanager
    def staged(self, frame: DataFrame, scratch: Scratch) -> Iterator[_Hidden]:
        """Write a DataFrame to scratch; if the block fails, it is removed."""
        written = scratch.written(frame)
        yield _Hidden(written)
        scratch.keep(written)

    def data(self, staged: Staged) -> DataFrame:
        """Return the audited rows."""
        return staged.frame

    def reads_from(self, frame: DataFrame) -> bool:
        """Return False: nothing is replaced."""
        return False


def _tidy(folder: Path) -> None:
    """Remove what Spark writes beside the files of a table."""
    for entry in folder.iterdir():
        if entry.name.startswith((".", "_")):
            with suppress(OSError):
                entry.unlink()
    for number, path in enumerate(sorted(folder.glob("*.parquet"))):
        path.rename(folder / f"part-{number:05d}.parquet")  # Spark's names hold a random number for each job


def _list_parts(folder: Path, columns: list[str]) -> None:
    """Write the manifest of a folder."""
    from pyarrow import parquet

    parts = []
    for path in sorted(folder.glob("*.parquet")):
        digest = of_file(path)
        parts.append(Part(path.name, parquet.read_metadata(path).num_rows, digest.size or 0, digest.hex))
    write_manifest(folder, columns, parts)
