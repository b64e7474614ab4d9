"""Disk space and time that a run on disk needs, estimated from the footers and sizes of its files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from shoal.errors import EngineError
from shoal.flow.plan.costs import Contents
from shoal.flow.plan.estimate import Estimate, estimated_on_disk
from shoal.flow.stages.batches import Batches
from shoal.flow.stages.table_sizes import estimate_records, size_of_columns, size_on_disk
from shoal.memory import gigabytes
from shoal.recipe.recipe import Recipe
from shoal.scratch import scratch_place
from shoal.types import Role

_NUMBER, _STRATUM, _PERSON = 8, 4, 16  # bytes of a stored cell


class Needs(NamedTuple):
    """Estimated needs of a run on disk."""

    records: int
    scratch: int  #: bytes at the peak
    output: int  #: bytes
    time: Estimate

    @property
    def disk(self) -> int:
        """Bytes of scratch and output together."""
        return self.scratch + self.output


def needs_of(batches: Batches, recipe: Recipe, *, textual: bool) -> Needs:
    """Estimate what a run needs before its table is read; `textual` tells whether its output is text."""
    records, names = estimate_records(batches), batches.arrow.names
    roles = recipe.roles
    released = [name for name in names if roles.get(name, Role.OTHER).leaves]
    audited = [name for name in released if name in roles]
    hidden = _PERSON * (recipe.subject is not None) + _NUMBER * (recipe.weight is not None)
    recoded = sum(name in recipe.quasi for name in recipe.recode)  # they are also stored as they were read
    stored = records * (_NUMBER * (1 + len(recipe.quasi) + recoded) + _STRATUM * bool(recipe.strata) + hidden)
    regrouped = recipe.effort != "fast" or recipe.t is not None or bool(recipe.require)
    blocks = stored * (1 + regrouped + bool(recipe.strata))  # the old blocks are kept while others are written
    shuffled = size_of_columns(batches, released)[0] + records * _NUMBER if recipe.row_order == "shuffle" else 0
    parts = size_of_columns(batches, audited)[0] + records * _NUMBER  # with digests of what is released unchanged
    scratch = stored + max(blocks, records * hidden + max(shuffled, records * hidden + parts))
    if textual and batches.dialect is None:
        output = size_of_columns(batches, released)[0]
    else:
        output = size_on_disk(batches) * len(released) // len(names)
    file = Contents(len(names), textual or batches.dialect is not None)
    kinds = [batches.arrow.field(name).type for name in recipe.quasi if name in names]
    coded = batches.dialect is None and any(map(_is_categorical, kinds))
    return Needs(records, scratch, output, estimated_on_disk(recipe, records, file, coded=coded))


def _is_categorical(kind: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind))


def refuse_full_disk(needs: Needs, target: Path) -> None:
    """Refuse a run whose scratch and output do not fit on their disks.

    Raises
    ------
    EngineError
        With the space that is needed, and the space that is free.
    """
    wanted: dict[int, tuple[Path, int]] = {}
    for place, size in ((Path(os.path.realpath(target)).parent, needs.output), (scratch_place(target), needs.scratch)):
        if place.is_dir():  # otherwise it is refused where it is used
            disk = place.stat().st_dev
            wanted[disk] = place, size + wanted.get(disk, (place, 0))[1]
    for place, size in wanted.values():
        free = shutil.disk_usage(place).free
        if size > free:
            raise EngineError(
                f"{place}: a run on disk needs about {gigabytes(size)} here, and {gigabytes(free)} are free. Free some "
                "space, or set SHOAL_SCRATCH to a folder on another disk."
            )
