"""Run: the record that forming, releasing, measuring and auditing fill in, and that reports are based on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from shoal.errors import EngineError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.types.data.table import Schema
    from shoal.types.results.privacy_ledger import Ledger
    from shoal.types.results.reading import Readings
    from shoal.types.results.release import Audit, Certificate, Release
    from shoal.types.space.comparison import Comparison
    from shoal.types.space.partition import Partition


@dataclass(frozen=True, eq=False)
class Run:
    """The protection of one table.

    Attributes
    ----------
    recipe
        The recipe's fields as plain values, as in TOML.
    toml, fingerprint
        The recipe as it is saved, and its digest.
    schema
        The meaning of the input's columns.
    partition
        The classes.
    release
        The table as it is released.
    comparison
        The table before and after, for measures and charts.
    readings
        Losses and risks.
    certificate
        A lower bound on the loss, if requested.
    checked
        The findings of the independent audit; None: not audited yet.
    left_out
        Number of records excluded because a quasi-identifier is missing.
    ledger
        How ε was spent, if noise was added.
    versions
        Versions of shoal and its dependencies.
    source, target
        Names of input and output: the last part of their paths, without a password.
    notes
        Remarks for the user; printed only in the internal edition of a report.
    """

    recipe: Mapping[str, Any]
    toml: str
    fingerprint: str
    schema: Schema
    partition: Partition
    comparison: Comparison = field(repr=False)
    readings: Readings
    release: Release = field(repr=False)
    certificate: Certificate | None = None
    checked: Audit | None = None
    left_out: int = 0
    ledger: Ledger | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    target: str = ""
    notes: tuple[str, ...] = ()

    @property
    def audit(self) -> Audit:
        """The findings of the independent audit."""
        if self.checked is None:
            raise EngineError("Run: it was not audited, so it has no findings.")
        return self.checked

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records with each combination of released quasi-identifiers."""
        import numpy as np

        return np.bincount(self.comparison.classes if self.comparison.classes is not None else [])

    @property
    def note(self) -> str:
        """Remark of the method on how classes were formed."""
        return self.partition.note

    @property
    def blocks(self) -> int:
        """Number of blocks of attributes that were partitioned separately."""
        return len(self.partition.blocks)
