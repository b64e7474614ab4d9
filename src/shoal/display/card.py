"""Card of a result in a notebook: a verdict, figures and tables, as HTML and as one line of text.

Everything on a card is text that is escaped here, in one place. A card holds names of columns, counts and levels, never
a cell of a table.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from html import escape

from shoal.display.words import plain

_ROWS = 40  # rows of the longest table that is shown whole
_STYLE = """<style>
.shoal-card{border:1px solid rgba(128,140,155,.45);border-radius:8px;padding:12px 16px;margin:4px 0;max-width:60em;
font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:13px;line-height:1.45;color:inherit}
.shoal-card .head{font-size:15px;font-weight:600}
.shoal-card .badge{font-size:12px;font-weight:600;border-radius:10px;padding:1px 9px;margin-left:8px;color:#fff}
.shoal-card .good{background:#1d7f5f}.shoal-card .bad{background:#c2334a}.shoal-card .plain{background:#5b7690}
.shoal-card p{margin:4px 0}.shoal-card ul{margin:4px 0;padding-left:20px}
.shoal-card dl{display:flex;flex-wrap:wrap;gap:4px 26px;margin:8px 0}
.shoal-card dl div{display:block}
.shoal-card dt{opacity:.7;font-size:12px;font-weight:400}
.shoal-card dd{margin:0;font-size:16px;font-variant-numeric:tabular-nums}
.shoal-card table{border-collapse:collapse;margin:8px 0;font-size:13px;font-variant-numeric:tabular-nums}
.shoal-card caption{text-align:left;font-weight:600;padding:2px 0;color:inherit}
.shoal-card th,.shoal-card td{text-align:left;padding:2px 14px 2px 0;border-bottom:1px solid rgba(128,140,155,.25);
vertical-align:top;white-space:normal;background:none}
.shoal-card th{font-weight:400;opacity:.7}.shoal-card .n{text-align:right}
.shoal-card .note{opacity:.8}
.shoal-card .warn{border-left:4px solid #d98200;padding:2px 0 2px 10px;margin:8px 0}
</style>"""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of a card: its caption, heads and rows of text."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def html(self) -> str:
        """Return the table as HTML; rows beyond the first 40 are counted."""
        if not self.rows:
            return ""
        columns = zip(*self.rows, strict=True)
        kinds = [" class=n" if all(map(_number, column)) and any(column) else "" for column in columns]
        heads = "".join(f"<th{kind}>{_text(head)}</th>" for head, kind in zip(self.heads, kinds, strict=True))
        cells = [zip(row, kinds, strict=True) for row in self.rows[:_ROWS]]
        body = "".join(f"<tr>{''.join(f'<td{kind}>{_text(cell)}</td>' for cell, kind in row)}</tr>" for row in cells)
        more = len(self.rows) - _ROWS
        rest = f'<tr><td colspan="{len(self.heads)}">… and {more:,} more</td></tr>' if more > 0 else ""
        caption = f"<caption>{_text(self.caption)}</caption>" if self.caption else ""
        return f"<table>{caption}<tr>{heads}</tr>{body}{rest}</table>"


@dataclass(frozen=True, slots=True)
class Card:
    """Contents of a result's card.

    Attributes
    ----------
    title
        The kind of result.
    lead
        The result in a sentence or two.
    warnings
        Sentences to read before publication, above everything else.
    learns
        What an attacker could learn, a sentence each: the worst case first.
    verdict, good
        A word beside the title, and whether it is good news; None: neither good nor bad.
    facts
        Pairs of a name and a figure.
    grids
        Tables.
    notes
        Sentences below.

    >>> Card("Audit", "3 records in 1 class.").text()
    'Audit: 3 records in 1 class.'
    """

    title: str
    lead: str
    verdict: str = ""
    good: bool | None = None
    facts: tuple[tuple[str, str], ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    learns: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the card in one line."""
        return f"{self.title}: {plain(self.lead)}"

    def html(self) -> str:
        """Return the card as HTML without scripts, in the colours of the notebook."""
        kind = "plain" if self.good is None else "good" if self.good else "bad"
        badge = f'<span class="badge {kind}">{_text(self.verdict)}</span>' if self.verdict else ""
        facts = "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(said)}</dd></div>" for name, said in self.facts)
        return (
            f'{_STYLE}<div class="shoal-card"><div class="head">{_text(self.title)}{badge}</div>'
            f"<p>{_text(self.lead)}</p>{f'<dl>{facts}</dl>' if facts else ''}"
            f"{''.join(f'<p class=warn><b>Warning:</b> {_text(one)}</p>' for one in self.warnings)}{self._learns()}"
            f"{''.join(grid.html() for grid in self.grids)}"
            f"{''.join(f'<p class=note>{_text(note)}</p>' for note in self.notes)}</div>"
        )

    def _learns(self) -> str:
        if not self.learns:
            return ""
        said = "".join(f"<li>{_text(sentence)}</li>" for sentence in self.learns)
        return f"<p><b>What an attacker could learn</b></p><ul>{said}</ul>"


class Shown:
    """A result that notebooks show as a card, and terminals as one line."""

    __slots__ = ()

    @abstractmethod
    def _card(self) -> Card:
        """Return the card of this result."""

    def __repr__(self) -> str:
        return self._card().text()

    def _repr_html_(self) -> str:
        return self._card().html()


def _number(text: str) -> bool:
    """Tell whether a cell holds a figure, a dash for none, or nothing.

    >>> [_number(text) for text in ("1,000", "-2.5 %", "1e-06", "–", "", "k = 5", "holds")]
    [True, True, True, True, True, False, False]
    """
    return re.fullmatch(r"[–—]?|[-−]?[\d,.]+(e[-+]\d+)?( %)?", text) is not None


def _text(text: str) -> str:
    return escape(plain(text))
