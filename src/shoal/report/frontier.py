"""Exploration pages: the frontier of loss and risk, and the choice of noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources

from shoal import registry
from shoal.report.charts.curves import bars, best_sized, curves, split_curve
from shoal.report.charts.scatter import mark, methods_of, scatter
from shoal.types import Explored, Setting


def page(found: Explored, title: str, sections: Iterable[str]) -> str:
    """Return one self-contained HTML file, for screen and print."""
    of = f"{found.records:,} of {found.whole:,} records" if found.records < found.whole else f"{found.whole:,} records"
    where = "".join(f"<span>{escape(part)}</span>" for part in ("shoal explore", found.source, of) if part)
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>{_style()}</style>\n</head>\n<body>\n<main>",
            f'<p class="eyebrow">{where}</p>',
            *sections,
            "</main>\n</body>\n</html>\n",
        ]
    )


def _style() -> str:
    """Return the styles: those of a report, and those of this page."""
    home = resources.files("shoal.report")
    return "".join(home.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "frontier.css"))


def others(settings: Sequence[Setting]) -> str:
    """List settings that could not run, grouped by reason, and those that were skipped."""
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
            f"<p>The choice depends on the numbers of records and attributes and on k, not on a clock, so that "
            f"every machine tries the same settings.</p></section>"
        )
    return "\n".join(parts)


def recipe(found: Explored) -> str:
    """Show the recommended recipe and the command to run it; empty without a recommendation."""
    if found.recommended is None:
        return ""
    source = found.source or "IN"
    return (
        f'<section><h2>The recipe</h2><div class="card"><p>Save this as <code>best.toml</code>, and run:</p>'
        f"<pre>shoal protect {escape(_quoted(source))} -o OUT --recipe best.toml</pre>"
        f"<pre>{escape(found.toml)}</pre></div></section>"
    )


def _quoted(name: str) -> str:
    import shlex

    return shlex.quote(name)


def notes(found: Explored, always: Iterable[str]) -> str:
    """List the notes of this exploration, and those that always apply."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in (*found.notes, *always))
    return f"<section><h2>Notes</h2><ul>{notes}</ul></section>"


def render_noise(found: Explored) -> str:
    """Return the page: one self-contained HTML file without any value of the table."""
    return page(found, "Noise against loss", [_noise_recommended(found), *_drawings(found), *_words(found)])


def _drawings(found: Explored) -> Iterator[str]:
    """Yield the charts, if any setting ran."""
    if not found.ways:
        return
    yield (
        f'<section><h2>Expected loss against k</h2><p class="lead">ε = {found.epsilon:g}. {escape(found.ran)}.</p>'
        f'<figure class="card">{curves(found)}{_noise_key(found)}</figure></section>'
    )
    yield (
        f'<section><h2>Microaggregation and noise</h2><p class="lead">The best setting of each method. Solid: '
        f"microaggregation loss; hatched: noise. Bars with … are shortened.</p>"
        f'<figure class="card">{bars(found)}</figure></section>'
    )
    sized = best_sized(found)
    if sized is not None and len(found.ways[sized.method]) > 2:
        yield (
            f"<section><h2>{escape(sized.method)}, part by part</h2>"
            f'<p class="lead">Larger classes lose more through their means but need less noise.</p>'
            f'<figure class="card">{split_curve(found, found.ways[sized.method])}<figcaption>Full line: the sum. '
            f"Dashed: microaggregation. Dotted: noise.</figcaption></figure></section>"
        )


def _words(found: Explored) -> Iterator[str]:
    yield _noise_reading(found)
    yield _noise_table(found)
    yield others(found.settings)
    yield recipe(found)
    yield notes(found, _noise_always())


def _noise_recommended(found: Explored) -> str:
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


def _noise_key(found: Explored) -> str:
    entries = "".join(
        f'<li><svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">{mark(at, 7, 7)}</svg> '
        f"{escape(way)}{'' if some[0].sized else ', sizes vary'}</li>"
        for at, (way, some) in enumerate(found.ways.items())
    )
    free = ""
    if any(not one.sized for one in found.settings):
        free = " A level line is a method that chooses its class sizes; if it is best, the dashed ring is the best k."
    least = "minimum"
    if any(s.state == "ran" and not s.meets for s in found.settings):
        least = "minimum of those that meet the recipe's demands"
        free += f" Grey ones are weaker than the recipe, which demands {escape(found.demanded)}."
    return (
        f'<figcaption><ul class="key">{entries}</ul>Each point is a setting; lower is better. The full ring marks the '
        f"{least}.{free} Hover over a point to see its figures.</figcaption>"
    )


def _noise_reading(found: Explored) -> str:
    rows = (
        (f"ε = {found.epsilon:g}", f"{escape(found.meaning)}."),
        (
            f"Expected <code>{escape(found.loss)}</code>",
            "100·SSE/SST, standardised, averaged over all draws of the noise; computed, not drawn, with values "
            "clamped to their bounds as in the release. 0 is the original, 100 every record at the common mean.",
        ),
        ("Recommended is", f"{escape(found.rule)}; ties go to the lower k."),
    )
    inside = "".join(f"<dt>{name}</dt><dd>{said}</dd>" for name, said in rows)
    return f'<section><h2>How to read it</h2><dl class="card rows">{inside}</dl></section>'


def _noise_table(found: Explored) -> str:
    ran = sorted((s for s in found.settings if s.state == "ran"), key=lambda s: (not math.isfinite(s.loss), s.loss))
    heads = ("method", "k", "expected %", "microaggregation %", "noise %", "smallest", "")
    head = "".join(f"<th>{name}</th>" for name in heads)
    rows = "\n".join(_noise_row(one, best=one is found.recommended) for one in ran)
    return (
        f'<section><h2>Settings that ran</h2><div class="card wide"><table class="settings">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{_weaker(ran)}</section>"
    )


def _weaker(ran: Sequence[Setting]) -> str:
    """State once per method how its promise falls short of k over all quasi-identifiers."""
    said: dict[str, dict[str, None]] = {}
    for one in ran:
        if one.note:
            said.setdefault(one.note, {})[one.method] = None
    items = "".join(f"<li>{escape(', '.join(ways))}: {escape(note)}.</li>" for note, ways in said.items())
    return f"<ul>{items}</ul>" if items else ""


def _noise_row(one: Setting, *, best: bool) -> str:
    cells = [escape(one.method), f"{one.asked[0]:,}" if one.sized else "vary"]
    cells += list(one.figures) if math.isfinite(one.loss) else ["–"] * 3
    cells += [f"{one.k:,}", "recommended" if best else "" if one.meets else "weaker than the recipe"]
    style = ' class="best"' if best else "" if one.meets else ' class="below"'
    return f"<tr{style}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _noise_always() -> Iterator[str]:
    yield (
        "Nothing was drawn or released. A run differs from the expectation by chance, the more so the fewer classes "
        "there are. Rounding to integers is ignored."
    )
    yield "The figures are the expected il_sse of shoal protect. They do not depend on the machine."


_MORE = ("il", "id", "dr", "score")


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
    weak = " Hollow ones promise less than requested." if any(_weak(s) for s in found.settings) else ""
    if any(s.state == "ran" and not s.meets for s in found.settings):
        weak += f" Grey ones are weaker than the recipe, which demands {escape(found.demanded)}."
    return (
        f'<figcaption><ul class="key">{entries}</ul>Each point is a setting: lower is safer, further left loses less. '
        f"The line joins the settings that no other beats on both; the ring marks the recommended one. Hover over a "
        f"point to see its figures.{weak}</figcaption>"
    )


def _weak(setting: Setting) -> bool:
    return setting.state == "ran" and setting.meets and not setting.keeps


def _reading(found: Explored) -> str:
    """Explain the two axes and the rule."""
    loss, risk = (_summary(room, name) for room, name in (("utility", found.loss), ("risk", found.risk)))
    rows = (
        (f"Loss, <code>{escape(found.loss)}</code>", escape(loss)),
        (f"Risk, <code>{escape(found.risk)}</code>", escape(risk)),
        ("Recommended is", f"{escape(found.rule)}; ties go to the lower k."),
    )
    inside = "".join(f"<dt>{name}</dt><dd>{said}</dd>" for name, said in rows)
    return f'<section><h2>How to read it</h2><dl class="card rows">{inside}</dl></section>'


def _summary(room: str, name: str) -> str:
    for key in registry.keys(room):
        if name in (key, registry.says(room, key, "short")):
            return registry.summary(room, key)
    return ""


def _table(found: Explored) -> str:
    ran = sorted(
        (s for s in found.settings if s.state == "ran"),
        key=lambda s: (not s.meets, not s.frontier, math.isnan(s.loss + s.risk), s.loss + s.risk),
    )
    close = any(s.asked[1] is not None for s in ran)
    more = [name for name in _MORE if name not in (found.loss, found.risk)]
    heads = ["method", "k", *(["t"] if close else []), "loss %", "risk %", *more, "classes", ""]
    head = "".join(f"<th>{name}</th>" for name in heads)
    rows = "\n".join(_row(s, more, close=close, best=s is found.recommended) for s in ran)
    return (
        f'<section><h2>Settings that ran</h2><div class="card wide"><table class="settings">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _row(setting: Setting, more: Sequence[str], *, close: bool, best: bool) -> str:
    k, t = setting.asked
    said = "recommended" if best else "frontier" if setting.frontier else setting.note
    figures = [setting.loss, setting.risk, *(setting.readings.get(name, math.nan) for name in more)]
    cells = [escape(setting.method), str(k), *([("" if t is None else f"{t:g}")] if close else [])]
    cells += ["–" if math.isnan(value) else f"{value:.2f}" for value in figures]
    cells += [f"{setting.classes:,}", escape(said)]
    style = ' class="best"' if best else ' class="front"' if setting.frontier else ""
    style = style if setting.meets else ' class="below"'
    return f"<tr{style}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _always(found: Explored) -> Iterator[str]:
    yield (
        "Every setting was audited: its promise holds. Risk is what an attacker who knows the original values still "
        "gains."
    )
    here = " for the sampled records" if found.records < found.whole else ""
    yield f"The figures are those that shoal protect and shoal compare give{here}. They do not depend on the machine."
