"""What was found by trying many settings, as one page: the frontier drawn, the recommended setting, its recipe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources

from shoal import registry
from shoal.report._scatter import mark, methods_of, scatter
from shoal.types import Explored, Setting

_BESIDES = ("il", "id", "dr", "score")


def render(found: Explored) -> str:
    """Return the page: one HTML file that opens without a network, for screens and for paper.

    It holds counts, percentages and the recipe, never a value of the table.
    """
    of = f"{found.records:,} of {found.whole:,} records" if found.records < found.whole else f"{found.whole:,} records"
    where = "".join(f"<span>{escape(part)}</span>" for part in ("shoal explore", found.source, of) if part)
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>Loss against risk</title>",
            f"<style>{_style()}</style>\n</head>\n<body>\n<main>",
            f'<p class="eyebrow">{where}</p>',
            _recommended(found),
            f'<section><h2>Loss against risk</h2><p class="lead">{escape(found.ran)}.</p>',
            f'<figure class="card">{scatter(found)}{_key(found)}</figure></section>',
            _reading(found),
            _table(found),
            _others(found.settings),
            _recipe(found),
            _notes(found),
            "</main>\n</body>\n</html>\n",
        ]
    )


def _style() -> str:
    """Return how it looks: like a report, and what only this page has."""
    home = resources.files("shoal.report")
    return "".join(home.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "frontier.css"))


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
    return (
        f'<figcaption><ul class="key">{entries}</ul>Each point is a setting: down is safer, left loses less. The '
        f"line joins those that no other beats in both; the ring is the recommended one. Point at one to see its "
        f"figures.{weak}</figcaption>"
    )


def _weak(setting: Setting) -> bool:
    return setting.state == "ran" and not setting.keeps


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
        key=lambda s: (not s.frontier, math.isnan(s.loss + s.risk), s.loss + s.risk),
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
    return f"<tr{style}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _others(settings: Sequence[Setting]) -> str:
    """List settings that could not be run with the reason, each reason once, and those that were left out."""
    reasons: dict[str, list[str]] = {}
    for setting in settings:
        if setting.state == "failed":
            reasons.setdefault(setting.note, []).append(setting.name)
    left = [setting.name for setting in settings if setting.state == "left out"]
    items = [f"<li>{escape('; '.join(names))}: {escape(why)}</li>" for why, names in reasons.items()]
    parts = [f"<section><h2>Settings that could not be run</h2><ul>{''.join(items)}</ul></section>"] if items else []
    if left:
        parts.append(
            f"<section><h2>Settings that did not fit into the time</h2><p>{escape('; '.join(left))}.</p>"
            f"<p>What fits is computed from the numbers of records, attributes and k, not from a clock, so that the "
            f"same settings are tried on every machine.</p></section>"
        )
    return "\n".join(parts)


def _recipe(found: Explored) -> str:
    if found.recommended is None:
        return ""
    source = found.source or "IN"
    return (
        f'<section><h2>The recipe</h2><div class="card"><p>Save this as <code>best.toml</code>, and type:</p>'
        f"<pre>shoal protect {escape(_quoted(source))} -o OUT --recipe best.toml</pre>"
        f"<pre>{escape(found.toml)}</pre></div></section>"
    )


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)


def _notes(found: Explored) -> str:
    notes = "".join(f"<li>{escape(note)}</li>" for note in (*found.notes, *_always(found)))
    return f"<section><h2>Notes</h2><ul>{notes}</ul></section>"


def _always(found: Explored) -> Iterator[str]:
    yield (
        "Every setting was audited: what it promises holds. Risk is what an intruder gains in spite of it, who knows "
        "the original values."
    )
    here = " for the records that were looked at" if found.records < found.whole else ""
    yield f"The figures are those that shoal protect and shoal compare give{here}. They do not depend on the machine."
