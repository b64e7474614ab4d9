"""What pages about many settings have in common: head and looks, settings that did not run, the recipe, notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources

from shoal.types import Explored, Setting


def page(found: Explored, title: str, sections: Iterable[str]) -> str:
    """Return one HTML file that opens without a network, for screens and for paper."""
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
    """Return how it looks: like a report, and what only this page has."""
    home = resources.files("shoal.report")
    return "".join(home.joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "frontier.css"))


def others(settings: Sequence[Setting]) -> str:
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


def recipe(found: Explored) -> str:
    """Show the recipe of the recommended setting, and what to type; nothing where there is none."""
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


def notes(found: Explored, always: Iterable[str]) -> str:
    """List what the reader must know: what was found, and what is always so."""
    notes = "".join(f"<li>{escape(note)}</li>" for note in (*found.notes, *always))
    return f"<section><h2>Notes</h2><ul>{notes}</ul></section>"
