"""Gate of the disk engine: metadata of the written files, and quick attacks on a sample of whole classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import GuaranteeError, listing
from shoal.flow.engines.disk.output import Output
from shoal.flow.engines.disk.sample import Sample
from shoal.flow.gate.attacks import attack_release, notes_in
from shoal.flow.gate.files import Written
from shoal.flow.gate.read_back import judge_metadata
from shoal.flow.gate.recoded import check_recoded
from shoal.flow.stages.batches import Batches, open_files
from shoal.flow.stages.row_digests import ColumnDigests, occurrences
from shoal.privacy.counting.staged_file import CategoryLists
from shoal.types import Attempt, Release, Schema, with_columns, without_unused
from shoal.types.attack import AllRecords

_ROWS = 1 << 17  # read at a time


def check_written(
    output: Output,
    sample: Sample,
    written: Written,
    read: pa.Schema,
    rows: NDArray[np.int64] | None,
    cells: ColumnDigests,
    *,
    keep: bool,
) -> tuple[tuple[str, ...], tuple[Attempt, ...]]:
    """Check the metadata of written files, and attack the records of a sample as they were written.

    Parameters
    ----------
    output, sample
        The released records, and the original ones of some whole classes.
    written
        The files.
    read
        The schema of the input.
    rows
        For each released row its row in the input; None: the same.
    cells
        The columns that are released unchanged, before they were written.
    keep
        Whether metadata was to be kept.

    Returns
    -------
    Notes on the metadata, and the attempts; each says so if it was made on a sample.

    Raises
    ------
    GuaranteeError
        If a cell was not recoded, there is metadata that may not be released, or an attack succeeds that must not.
    """
    files = open_files(written.paths, written.text)
    back = ColumnDigests(cells.names)
    released, stray = _read_back(files, _mask(output, rows), back, partial(_check_recoded, output, written))
    if changed := cells.different(back):
        names = listing([repr(name) for name in changed])
        raise GuaranteeError(f"Columns changed on their way to the disk: {names}. Nothing was written.")
    about = judge_metadata(read, [files.arrow], stray, written.paths, keep=keep)
    everything = None
    if output.every > 1:
        batches = partial(files.read, files.arrow.names, at_most=_ROWS)
        everything = AllRecords(written.records, output.originals, batches, partial(_occurrences, released, files))
        released = with_columns(released, {name: without_unused(released.column(name)) for name in files.arrow.names})
    original = sample.table.rows(_order(output, rows))
    attempts = attack_release(
        original,
        Release(released, Schema(()), written.dialect),
        output.recipe.to_dict(),
        notes_in(written.paths),
        keep_metadata=keep,
        everything=everything,
    )
    return about, attempts


def _check_recoded(output: Output, written: Written, data: pa.Table) -> None:
    """Refuse written rows in which a cell was not recoded."""
    if output.example is not None:
        recipe, release = output.recipe, Release(data, written.schema, written.dialect)
        check_recoded(release, recipe.recode, output.example, as_written=False, resolution=recipe.resolution)


def _read_back(
    files: Batches, mask: NDArray[np.bool_], cells: ColumnDigests, check: Callable[[pa.Table], None]
) -> tuple[pa.Table, list[str]]:
    """Read the files once: return some of their rows, and the columns with categories that do not occur."""
    lists, taken, at = CategoryLists(), [], 0
    for table in files.read(files.arrow.names, at_most=_ROWS):
        lists.add(table)
        cells.add(table)
        check(table)
        taken.append(table.filter(pa.array(mask[at : at + table.num_rows])))
        at += table.num_rows
    return _annotated(pa.concat_tables(taken), files.arrow), lists.stray()


def _occurrences(sample: pa.Table, files: Batches, names: Sequence[str]) -> NDArray[np.int64]:
    return occurrences(sample, files.read(names, at_most=_ROWS), names)


def _annotated(table: pa.Table, noted: pa.Schema) -> pa.Table:
    """Return a table with the metadata of a schema with the same columns."""
    fields = [had.with_metadata(field.metadata) for had, field in zip(table.schema, noted, strict=True)]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, metadata=noted.metadata))


def _mask(output: Output, rows: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Tell for each released row whether it is in the sample."""
    positions = output.found.positions(rows)
    return output.in_sample if positions is None else output.in_sample[positions]


def _order(output: Output, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the rows of the sample in the order of the release."""
    inside, positions = np.flatnonzero(output.in_sample), output.found.positions(rows)
    if positions is None:
        return np.arange(len(inside))
    return np.searchsorted(inside, positions[output.in_sample[positions]])
