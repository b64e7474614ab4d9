"""What was found by weighing noise, as one page: expected loss against k, its two parts, the least, its recipe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from shoal.report.charts.curves import best_sized, curves, split_curve
from shoal.report.charts.parts import bars
from shoal.report.charts.scatter import mark
from shoal.report.sections.settings import notes, others, page, recipe
from shoal.types import Explored, Setting


def render_noise(found: Explored) -> str:
    """Return the page: one HTML file that opens without a network; it holds no value of the table."""
    return page(found, "Noise against loss", [_recommended(found), *_drawings(found), *_words(found)])


def _drawings(found: Explored) -> Iterator[str]:
    """Yield what is drawn, where something ran."""
    if not found.ways:
        return
    yield (
        f'<section><h2>Expected loss against k</h2><p class="lead">ε = {found.epsilon:g}. {escape(found.ran)}.</p>'
        f'<figure class="card">{curves(found)}{_key(found)}</figure></section>'
    )
    yield (
        f'<section><h2>Microaggregation and noise</h2><p class="lead">The least of each way. Solid is what '
        f"microaggregation loses, hatched what noise adds; bars with … are shortened.</p>"
        f'<figure class="card">{bars(found)}</figure></section>'
    )
    sized = best_sized(found)
    if sized is not None and len(found.ways[sized.method]) > 2:
        yield (
            f"<section><h2>{escape(sized.method)}, part by part</h2>"
            f'<p class="lead">Larger classes lose more by their means, and need less noise.</p>'
            f'<figure class="card">{split_curve(found, found.ways[sized.method])}<figcaption>Full line: the sum. '
            f"Dashed: microaggregation. Dotted: noise.</figcaption></figure></section>"
        )


def _words(found: Explored) -> Iterator[str]:
    yield _reading(found)
    yield _table(found)
    yield others(found.settings)
    yield recipe(found)
    yield notes(found, _always())


def _recommended(found: Explored) -> str:
    best = found.recommended
    if best is None:
        return f'<div class="verdict bad"><h1>No setting to recommend</h1><p>{escape(found.reason)}</p></div>'
    facts = (
        *zip(("expected loss", "by microaggregation", "by noise"), (f"{one} %" for one in best.figures), strict=True),
        ("smallest class", f"{best.k:,}"),
    )
    shown = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    claim = "".join(f"<p>{escape(note)}</p>" for note in found.notes[:1])
    return (
        f'<div class="verdict"><h1>Recommended: {escape(best.name)}</h1><p>{escape(found.reason)}</p>{claim}</div>'
        f'<dl class="facts">{shown}</dl>'
    )


def _key(found: Explored) -> str:
    entries = "".join(
        f'<li><svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">{mark(at, 7, 7)}</svg> '
        f"{escape(way)}{'' if some[0].sized else ', sizes vary'}</li>"
        for at, (way, some) in enumerate(found.ways.items())
    )
    free = ""
    if any(not one.sized for one in found.settings):
        free = (
            " A level line is a way that takes the sizes it likes; if it is the least, the dashed ring is the least k."
        )
    least = "of all"
    if any(s.state == "ran" and not s.meets for s in found.settings):
        least = "of those that meet the recipe's demands"
        free += f" Grey ones are weaker than the recipe, which demands {escape(found.demanded)}."
    return (
        f'<figcaption><ul class="key">{entries}</ul>Each point is a setting; lower is better. The full ring is the '
        f"least {least}.{free} Point at one to see its figures.</figcaption>"
    )


def _reading(found: Explored) -> str:
    rows = (
        (f"ε = {found.epsilon:g}", f"{escape(found.meaning)}."),
        (
            f"Expected <code>{escape(found.loss)}</code>",
            "100·SSE/SST, standardised, in the mean over all draws of the noise; computed, not drawn, with values "
            "moved to their bounds as they leave. 0 is the original, 100 every record at the common mean.",
        ),
        ("Recommended is", f"{escape(found.rule)}; of equals the one with the lower k."),
    )
    inside = "".join(f"<dt>{name}</dt><dd>{said}</dd>" for name, said in rows)
    return f'<section><h2>How to read it</h2><dl class="card rows">{inside}</dl></section>'


def _table(found: Explored) -> str:
    ran = sorted((s for s in found.settings if s.state == "ran"), key=lambda s: (not math.isfinite(s.loss), s.loss))
    heads = ("method", "k", "expected %", "microaggregation %", "noise %", "smallest", "")
    head = "".join(f"<th>{name}</th>" for name in heads)
    rows = "\n".join(_row(one, best=one is found.recommended) for one in ran)
    return (
        f'<section><h2>Settings that ran</h2><div class="card wide"><table class="settings">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{_weaker(ran)}</section>"
    )


def _weaker(ran: Sequence[Setting]) -> str:
    """Say once of each way what it promises less than k over all quasi-identifiers."""
    said: dict[str, dict[str, None]] = {}
    for one in ran:
        if one.note:
            said.setdefault(one.note, {})[one.method] = None
    items = "".join(f"<li>{escape(', '.join(ways))}: {escape(note)}.</li>" for note, ways in said.items())
    return f"<ul>{items}</ul>" if items else ""


def _row(one: Setting, *, best: bool) -> str:
    cells = [escape(one.method), f"{one.asked[0]:,}" if one.sized else "vary"]
    cells += list(one.figures) if math.isfinite(one.loss) else ["–"] * 3
    cells += [f"{one.k:,}", "recommended" if best else "" if one.meets else "weaker than the recipe"]
    style = ' class="best"' if best else "" if one.meets else ' class="below"'
    return f"<tr{style}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _always() -> Iterator[str]:
    yield (
        "Nothing was drawn and nothing released. A run differs from what is expected, by chance; the more, the fewer "
        "classes there are. Rounding to integers is not weighed."
    )
    yield "The figures are the means of the il_sse that shoal protect gives. They do not depend on the machine."
