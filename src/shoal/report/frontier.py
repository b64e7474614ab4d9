"""Exploration pages: the frontier of loss and risk, and the choice of noise."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from markupsafe import Markup

from shoal import registry
from shoal.report.charts.charts import mark, sample, scatter
from shoal.report.charts.curves import bars, best_sized, curves, split_curve
from shoal.report.html import page
from shoal.types import Explored, Setting

_MORE = ("il", "id", "dr", "score")


def render(found: Explored) -> str:
    """Return the page: loss against risk, or the expected loss by k where noise is weighed.

    It is one self-contained HTML file, for screen and print. It holds counts, percentages and the recipe, never a value
    of the table.
    """
    of = f"{found.records:,} of {found.whole:,} records" if found.records < found.whole else f"{found.whole:,} records"
    best = found.recommended
    return page(
        "frontier.html.jinja",
        ("report.css", "frontier.css"),
        eyebrow=[part for part in ("shoal explore", found.source, of) if part],
        best=best and best.name,
        reason=found.reason,
        rule=found.rule,
        failed=_by_note((one for one in found.settings if one.state == "failed"), "name"),
        skipped=[setting.name for setting in found.settings if setting.state == "left out"],
        unfinished=found.unfinished,
        stopped=found.stopped,
        source=shlex.quote(found.source or "IN"),
        toml=found.toml,
        **_contents(found, best),
    )


def _contents(found: Explored, best: Setting | None) -> dict[str, Any]:
    if found.target:
        return _by_target(found, best)
    return _by_risk(found, best) if found.epsilon is None else _by_noise(found, best)


def _by_target(found: Explored, best: Setting | None) -> dict[str, Any]:
    """Return the contents of the page that ranks releases by what a model keeps, a table for each guarantee."""
    heads = ("setting", f"boosting {found.score}", f"linear {found.score}", "singled out (control)", "membership")
    facts = (
        ()
        if best is None
        else zip(("boosting", "linear", "singled out", "membership", "copied"), best.kept, strict=True)
    )
    tables = []
    for guarantee, some in found.guarantees.items():
        rows = []
        for one in some:
            said = "recommended" if one is best else "" if one.keeps and one.meets else "weaker than the recipe"
            style = "best" if one is best else "below" if said else ""
            rows.append((style, [one.method, *one.kept, said]))
        tables.append((guarantee, rows))
    models = (
        f"trained on the release of {found.records // 2:,} records, tested on untouched records; the change against "
        "models trained on the originals, in brackets, is in thousandths. On the originals: boosting "
        f"{found.originals['boosting']:.3f}, linear {found.originals['linear']:.3f}."
    )
    return {
        "title": "What a model keeps",
        "claim": "",
        "facts": list(facts),
        "charts": [],
        "reading": [
            (f"Models of {found.target},", found.score, models),
            *((name, "", text.strip()) for name, _, text in (one.partition(":") for one in found.explanations)),
        ],
        "heads": (*heads, "copied", ""),
        "rows": [],
        "tables": tables,
        "weaker": {},
        "notes": [f"{found.ran}.", *found.notes],
    }


def _by_note(some: Iterable[Setting], what: str) -> dict[str, list[str]]:
    """Return the names or methods of settings, each once, by their note."""
    found: dict[str, dict[str, None]] = {}
    for one in some:
        found.setdefault(one.note, {})[getattr(one, what)] = None
    return {note: list(names) for note, names in found.items()}


def _methods(names: Iterable[str]) -> list[tuple[Markup, str]]:
    """Return the symbol of every method, and its name."""
    return [(Markup(mark(at, 7, 7)), name) for at, name in enumerate(names)]  # our own drawing, not to be escaped


def _weaker_than_recipe(found: Explored) -> str:
    if any(setting.state == "ran" and not setting.meets for setting in found.settings):
        return f" Grey ones are weaker than the recipe, which demands {found.demanded}."
    return ""


def _by_noise(found: Explored, best: Setting | None) -> dict[str, Any]:
    """Return the contents of the page that weighs noise against loss."""
    ran = sorted((s for s in found.settings if s.state == "ran"), key=lambda s: (not math.isfinite(s.loss), s.loss))
    names = ("expected loss", "by microaggregation", "by noise", "smallest class")
    facts = () if best is None else zip(names, (*(f"{one} %" for one in best.figures), f"{best.k:,}"), strict=True)
    return {
        "title": "Noise against loss",
        "claim": "".join(found.notes[:1]),
        "facts": list(facts),
        "charts": list(_noise_charts(found)),
        "reading": [
            (f"ε = {found.epsilon:g}", "", f"{found.meaning}."),
            (
                "Expected",
                found.loss,
                "100·SSE/SST, standardised, averaged over all draws of the noise; computed, not drawn, with values "
                "clamped to their bounds as in the release. 0 is the original, 100 every record at the common mean.",
            ),
        ],
        "heads": ("method", "k", "expected %", "microaggregation %", "noise %", "smallest", ""),
        "rows": [_noise_row(one, best=one is best) for one in ran],
        "weaker": _by_note((one for one in ran if one.note), "method"),
        "notes": [
            *found.notes,
            "Nothing was drawn or released. A run differs from the expectation by chance, the more so the fewer "
            "classes there are. Rounding to integers is ignored.",
            "The figures are the expected il_sse of shoal protect. They do not depend on the machine.",
        ],
    }


def _noise_charts(found: Explored) -> Iterator[dict[str, Any]]:
    """Yield the charts, if any setting ran."""
    if not found.ways:
        return
    yield {
        "head": "Expected loss against k",
        "lead": f"ε = {found.epsilon:g}. {found.ran}.",
        "chart": curves(found),
        "methods": _methods(way if some[0].sized else f"{way}, sizes vary" for way, some in found.ways.items()),
        "caption": _noise_caption(found),
    }
    yield {
        "head": "Microaggregation and noise",
        "lead": "The best setting of each method. Solid: microaggregation loss; hatched: noise. Bars with … are "
        "shortened.",
        "chart": bars(found),
        "caption": "",
    }
    sized = best_sized(found)
    if sized is not None and len(found.ways[sized.method]) > 2:
        yield {
            "head": f"{sized.method}, part by part",
            "lead": "Larger classes lose more through their means but need less noise.",
            "chart": split_curve(found, found.ways[sized.method]),
            "methods": [],
            "caption": "Full line: the sum. Dashed: microaggregation. Dotted: noise.",
        }


def _noise_caption(found: Explored) -> str:
    weaker, free = _weaker_than_recipe(found), ""
    if any(not one.sized for one in found.settings):
        free = " A level line is a method that chooses its class sizes; if it is best, the dashed ring is the best k."
    least = "minimum of those that meet the recipe's demands" if weaker else "minimum"
    return (
        f"Each point is a setting; lower is better. The full ring marks the {least}.{free}{weaker} Hover over a point "
        f"to see its figures."
    )


def _noise_row(one: Setting, *, best: bool) -> tuple[str, list[str]]:
    """Return the style and the cells of a setting in the table."""
    figures = one.figures if math.isfinite(one.loss) else ["–"] * 3
    said = "recommended" if best else "" if one.meets else "weaker than the recipe"
    cells = [one.method, f"{one.asked[0]:,}" if one.sized else "vary", *figures, f"{one.k:,}", said]
    return "best" if best else "" if one.meets else "below", cells


def _by_risk(found: Explored, best: Setting | None) -> dict[str, Any]:
    """Return the contents of the page that shows loss against risk."""
    ran = sorted(
        (s for s in found.settings if s.state == "ran"),
        key=lambda s: (not s.meets, not s.frontier, math.isnan(s.loss + s.risk), s.loss + s.risk),
    )
    close, both = any(s.asked[1] is not None for s in ran), bool(found.attacker)
    shown = _MORE[:-1] if both else _MORE  # one column fewer, so that all fit beside the attacker
    more = [name for name in shown if name not in (found.loss, found.risk)]
    facts = (
        []
        if best is None
        else [("loss", f"{best.loss:.2f} %"), ("risk", f"{best.risk:.2f} %"), ("classes", f"{best.classes:,}")]
    )
    here = " for the sampled records" if found.records < found.whole else ""
    return {
        "title": "Loss against risk",
        "claim": "",
        "facts": facts,
        "charts": [
            {
                "head": "Loss against risk",
                "lead": " ".join(filter(None, (f"{found.ran}.", found.price_in_words))),
                "chart": Markup(scatter(found)),  # it escapes names itself
                "lines": _lines(found),
                "methods": _methods(found.ways),
                "caption": _caption(found),
            }
        ],
        "reading": [
            ("Loss,", found.loss, _summary("utility", found.loss)),
            ("Risk,", found.risk, _summary("risk", found.risk)),
            *([("Attacker", "", _ATTACKERS)] if both else []),
        ],
        "heads": ["method", "k", *["t"] * close, "loss %", "risk %", *more, "classes", *["attacker"] * both, ""],
        "rows": [_row(one, more, close=close, both=both, best=one is best) for one in ran],
        "weaker": {},
        "notes": [
            *(note for note in found.notes if note != found.price_in_words),
            "Every setting was audited: its promise holds. Risk is what an attacker who knows the original values "
            "still gains.",
            f"The figures are those that shoal protect and shoal compare give{here}. They do not depend on the "
            "machine.",
        ],
    }


_ATTACKERS = (
    "algorithm: k withstands even someone who knows the algorithm, its parameters and its seed. table: k is counted in "
    "the table, and such a person may learn more."
)


def _lines(found: Explored) -> list[tuple[Markup, str]]:
    """Return the line of each frontier, and what it joins; none if there is one frontier."""
    said = {
        "algorithm": "withstands someone who knows the algorithm",
        "table": "all settings; k counted in the table",
    }
    return [(Markup(sample(name)), said[name]) for name in found.frontiers]  # our own drawing, not to be escaped


def _caption(found: Explored) -> str:
    joined = "The line joins the settings that no other beats on both"
    if found.attacker:
        joined = "Each line joins the settings that no other of its kind beats on both"
    if found.attacker == "algorithm":
        joined += ", and only settings on the solid one are recommended"
    weak = any(one.state == "ran" and one.meets and not one.keeps for one in found.settings)
    return (
        f"Each point is a setting: lower is safer, further left loses less. {joined}; the ring marks the recommended "
        "one. Hover over a point to see its figures."
        f"{' Hollow ones promise less than requested.' if weak else ''}{_weaker_than_recipe(found)}"
    )


def _summary(room: str, name: str) -> str:
    for key in registry.keys(room):
        if name in (key, registry.says(room, key, "short")):
            return registry.summary(room, key)
    return ""


def _row(one: Setting, more: Iterable[str], *, close: bool, both: bool, best: bool) -> tuple[str, list[str]]:
    """Return the style and the cells of a setting in the table."""
    k, t = one.asked
    figures = [one.loss, one.risk, *(one.readings.get(name, math.nan) for name in more)]
    cells = [one.method, str(k), *([("" if t is None else f"{t:g}")] if close else [])]
    cells += ["–" if math.isnan(value) else f"{value:.2f}" for value in figures]
    front = one.frontier or bool(one.frontiers)
    cells += [f"{one.classes:,}", *([one.attacker or "–"] if both else [])]
    cells.append("recommended" if best else "frontier" if front else one.note)
    return "below" if not one.meets else "best" if best else "front" if front else "", cells
