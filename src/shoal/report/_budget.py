"""Where ε went, as a table: attributes, blocks, the release, and how they add up."""

from __future__ import annotations

from typing import NamedTuple

from shoal.report._numerals import folded
from shoal.types import CLAIMS, Account

_HEADS = ("ε", "Sensitivity", "Scale of noise", "Classes")


class Row(NamedTuple):
    """A line of the ledger as a row."""

    block: str
    attribute: str
    cells: tuple[str, ...]
    total: bool


class Budget(NamedTuple):
    """The ledger as a table, with what it means."""

    words: str
    blocks: bool  #: whether their numbers are told
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    meaning: str


def budget(account: Account, *, external: bool) -> Budget | None:
    """Return the table of the ledger; None where no noise was added. Outsiders are not told of blocks and classes."""
    ledger = account.ledger
    if ledger is None:
        return None
    total = f"ε = {ledger.total:.4g}" if ledger.private else f"NOT PRIVATE: ε would be {ledger.total:.4g}"
    shown = 1 if external else len(_HEADS)
    rows = tuple(
        Row(line.cells[0], folded(line.cells[1]), line.cells[2 : 2 + shown], line.entry is None)
        for line in ledger.lines
        if not external or line.entry is not None or line.block is None
    )
    words = f"Where the privacy budget went: {total}, claimed for {ledger.claim} records. Noise from {ledger.noise}."
    meaning = CLAIMS[ledger.claim] if external else "; ".join((ledger.meaning, *ledger.beyond))
    return Budget(words, not external, _HEADS[:shown], rows, f"{meaning}. How it adds up: {ledger.composition}.")
