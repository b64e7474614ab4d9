"""Sample of whole classes: how many records some figures are taken from."""

from __future__ import annotations

from typing import NamedTuple


class SampleSize(NamedTuple):
    """The number of records in a sample of whole classes, and in the table.

    >>> SampleSize(100_214, 10_000_000).sentence
    'Figures are those of a sample of 100,214 of 10,000,000 records, in whole classes.'
    """

    records: int
    of: int

    @property
    def stated(self) -> SampleSize | None:
        """Itself; None if the sample has all records."""
        return self if self.records < self.of else None

    @property
    def sentence(self) -> str:
        """The sentence for people."""
        return f"Figures are those of a sample of {self.records:,} of {self.of:,} records, in whole classes."

    def to_dict(self) -> dict[str, int]:
        """Return plain values, as in JSON."""
        return self._asdict()
