"""All that is known of a run when it is over: what reports and evidence are written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shoal.types.data.table import Schema
    from shoal.types.results.privacy_ledger import Ledger
    from shoal.types.results.reading import Readings
    from shoal.types.results.release import Audit, Certificate
    from shoal.types.space.comparison import Comparison


@dataclass(frozen=True, eq=False)
class Account:
    """A run, for those who write about it.

    Attributes
    ----------
    recipe
        The recipe's fields as plain values, as in TOML.
    toml, fingerprint
        The recipe as it is saved, and what tells it from every other.
    schema
        What the columns of the input were taken for.
    audit
        What the independent audit found in what leaves.
    readings
        What was lost and what an intruder gains.
    sizes
        How many records each class has, as it leaves: equal in all quasi-identifiers.
    note
        What the method has to say of how classes were formed.
    left_out
        Records that do not leave, because a quasi-identifier of theirs is missing.
    comparison
        The table before and after, for what is drawn of it.
    certificate
        A lower bound on the loss, if it was asked for.
    versions
        Of what the run depended on, by name.
    ledger
        Where ε went, if noise was added, and what it means.
    blocks
        Blocks of attributes that were partitioned each on its own.
    source, target
        What input and output are called: the last part of their paths, no password.
    notes
        What the user should know of the run; for the internal edition of a report only.
    """

    recipe: Mapping[str, Any]
    toml: str
    fingerprint: str
    schema: Schema
    audit: Audit
    readings: Readings
    sizes: NDArray[np.int64] = field(repr=False)
    note: str = ""
    left_out: int = 0
    comparison: Comparison | None = field(default=None, repr=False)
    certificate: Certificate | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    ledger: Ledger | None = None
    source: str = ""
    target: str = ""
    blocks: int = 1
    notes: tuple[str, ...] = ()
