"""Plan of a run in plain words, as a dry run shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.types.data.table import Schema


@dataclass(frozen=True)
class Planned:
    """What a run would do, or why it would be refused; nothing was written.

    Attributes
    ----------
    records
        Number of records that would be released.
    left_out
        Number of records that would be excluded because a quasi-identifier is missing.
    schema
        The meaning of the columns.
    columns
        A description of each quasi-identifier: missing values, decimals, categories.
    decisions
        The decisions: pairs of a topic and a sentence.
    refusals
        Why the run would be refused, a sentence each; empty: it would start.
    seconds
        Estimated processor time of the run on one core; None: it would not start.
    exit_code
        The exit code of the run, as far as the plan determines it.
    """

    records: int
    left_out: int
    schema: Schema
    columns: Mapping[str, str] = field(default_factory=dict)
    decisions: tuple[tuple[str, str], ...] = ()
    refusals: tuple[str, ...] = ()
    seconds: float | None = None
    exit_code: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, as in the JSON of ``shoal protect --dry-run``."""
        return {
            "records": self.records,
            "left_out": self.left_out,
            "columns": {
                c.name: {
                    "role": c.role,
                    "kind": c.kind,
                    **({"found": self.columns[c.name]} if c.name in self.columns else {}),
                }
                for c in self.schema.columns
            },
            "decisions": [{"topic": topic, "decision": decision} for topic, decision in self.decisions],
            "refusals": list(self.refusals),
            "seconds": self.seconds,
        }
