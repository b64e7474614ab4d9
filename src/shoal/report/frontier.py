"""What was found by trying many settings, as one page: the frontier drawn, the recommended setting, its recipe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from shoal import registry
from shoal.report.charts.scatter import mark, methods_of, scatter
from shoal.report.noise import render_noise
from shoal.report.sections.settings import notes, others, page, recipe
from shoal.types import Explored, Setting

_BESIDES = ("il", "id", "dr", "score")


def render(found: Explored) -> str:
    """Return the page: loss against risk, or the expected loss by k where noise is weighed.

    It holds counts, percentages and the recipe, never a value of the table.
    """
    if found.epsilon is not None:
        return render_noise(found)
    return page(
        found,
        "Loss against risk",
        [
            _recommended(found),
            f'<section><h2>Loss against risk</h2><p class="lead">{escape(found.ran)}.</p>',
            f'<figure class="card">{scatter(found)}{_key(found)}</figure></section>',
            _reading(found),
            _table(found),
            others(found.settings),
            recipe(found),
            notes(found, _always(found)),
        ],
    )


def _recommended(found: Explored) -> str:
    best = found.recommended
    if best is None:
        return f'<div class="verdict bad"><h1>No setting to recommend</h1><p>{escape(found.reason)}</p></div>'
    facts = (("loss", f"{best.loss:.2f} %"), ("risk", f"{best.risk:.2f} %"), ("classes", f"{best.classes:,}"))
    shown = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return (
        f'<div class="verdict"><h1>Recommended: {escape(best.name)}</h1><p>{escape(found.reason)}</p></div>'
        f'<dl class="facts">{shown}</dl>'
    )


def _key(found: Explored) -> str:
    entries = "".join(
        f'<li><svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">{mark(at, 7, 7)}</svg> '
        f"{escape(method)}</li>"
        for at, method in enumerate(methods_of(found))
    )
    weak = " Hollow ones promise less than was asked for." if any(_weak(s) for s in found.settings) else ""
    if any(s.state == "ran" and not s.meets for s in found.settings):
        weak += f" Grey ones are weaker than the recipe, which demands {escape(found.demanded)}."
    return (
        f'<figcaption><ul class="key">{entries}</ul>Each point is a setting: down is safer, left loses less. The '
        f"line joins those that no other beats in both; the ring is the recommended one. Point at one to see its "
        f"figures.{weak}</figcaption>"
    )


def _weak(setting: Setting) -> bool:
    return setting.state == "ran" and setting.meets and not setting.keeps


def _reading(found: Explored) -> str:
    """Say what the two axes are, and what the rule is."""
    loss, risk = (_summary(room, name) for room, name in (("utility", found.loss), ("risk", found.risk)))
    rows = (
        (f"Loss, <code>{escape(found.loss)}</code>", escape(loss)),
        (f"Risk, <code>{escape(found.risk)}</code>", escape(risk)),
        ("Recommended is", f"{escape(found.rule)}; of equals the one with the lower k."),
    )
    inside = "".join(f"<dt>{name}</dt><dd>{said}</dd>" for name, said in rows)
    return f'<section><h2>How to read it</h2><dl class="card rows">{inside}</dl></section>'


def _summary(room: str, name: str) -> str:
    for key in registry.keys(room):
        if name in (key, getattr(registry.load(room, key), "short", "")):
            return registry.summary(room, key)
    return ""


def _table(found: Explored) -> str:
    ran = sorted(
        (s for s in found.settings if s.state == "ran"),
        key=lambda s: (not s.meets, not s.frontier, math.isnan(s.loss + s.risk), s.loss + s.risk),
    )
    close = any(s.asked[1] is not None for s in ran)
    besides = [name for name in _BESIDES if name not in (found.loss, found.risk)]
    heads = ["method", "k", *(["t"] if close else []), "loss %", "risk %", *besides, "classes", ""]
    head = "".join(f"<th>{name}</th>" for name in heads)
    rows = "\n".join(_row(s, besides, close=close, best=s is found.recommended) for s in ran)
    return (
        f'<section><h2>Settings that ran</h2><div class="card wide"><table class="settings">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _row(setting: Setting, besides: Sequence[str], *, close: bool, best: bool) -> str:
    k, t = setting.asked
    said = "recommended" if best else "frontier" if setting.frontier else setting.note
    figures = [setting.loss, setting.risk, *(setting.readings.get(name, math.nan) for name in besides)]
    cells = [escape(setting.method), str(k), *([("" if t is None else f"{t:g}")] if close else [])]
    cells += ["–" if math.isnan(value) else f"{value:.2f}" for value in figures]
    cells += [f"{setting.classes:,}", escape(said)]
    style = ' class="best"' if best else ' class="front"' if setting.frontier else ""
    style = style if setting.meets else ' class="below"'
    return f"<tr{style}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _always(found: Explored) -> Iterator[str]:
    yield (
        "Every setting was audited: what it promises holds. Risk is what an intruder gains in spite of it, who knows "
        "the original values."
    )
    here = " for the records that were looked at" if found.records < found.whole else ""
    yield f"The figures are those that shoal protect and shoal compare give{here}. They do not depend on the machine."
