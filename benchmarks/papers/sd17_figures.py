"""[SD17] Figures 3 and 4 from our runs, with ours beside them, and error against k for four ε."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import drawing
from expected_error import expected_error
from sd17 import PAPER, PLAIN, SIZES, census, errors, variable

SHOWN = tuple(k for k in SIZES if k <= 540)
COLOURS = {"INS+DP": 3, "MDAV+DP": 0, "IR_MDAV+DP_1": 1, "IR_MDAV+DP_2": 2, "MDAV": 0, "IR_MDAV": 2}
WORDS = {"sse": "SSE", "sae": "SAE"}


def main(folder: Path) -> None:
    """Draw the three figures."""
    for number, measure in ((3, "sse"), (4, "sae")):

        def fill(figure: Any, theme: Any, look: ModuleType, number: int = number, measure: str = measure) -> None:
            _against_k(figure, theme, look, folder, number, measure)

        drawing.draw(f"sd17_figure{number}", 11.6, 4.3, fill)
    drawing.draw("sd17_variable", 13.2, 3.9, lambda *canvas: _variable(*canvas, folder))


def _against_k(figure: Any, theme: Any, look: ModuleType, folder: Path, number: int, measure: str) -> None:
    row = figure.subplots(1, 2, sharey=True)
    figure.subplots_adjust(left=0.055, right=0.855, bottom=0.13, top=0.84, wspace=0.06)
    for axes, epsilon in zip(row, PAPER["figures"], strict=True):
        for line, at in COLOURS.items():
            colour = look.SIX[at]
            found = [errors(line, epsilon, k, folder) for k in SHOWN]
            mean = [getattr(e, measure) for e in found]
            spread = [getattr(e, f"{measure}_spread") for e in found]
            dashes = {"linestyle": (0, (3, 2))} if line in PLAIN else {}
            axes.plot(SHOWN, mean, color=colour, linewidth=1.7, label=line, **dashes)
            ends = [[m + sign * s for m, s in zip(mean, spread, strict=True)] for sign in (-1, 1)]
            axes.fill_between(SHOWN, *ends, color=colour, alpha=0.16, linewidth=0)
        ours = getattr(variable(epsilon, "least", folder)[0], measure)
        axes.axhline(ours, color=theme.accent, linewidth=2.2, label="ours: least_error")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([2, 5, 10, 20, 50, 100, 200, 500], ["2", "5", "10", "20", "50", "100", "200", "500"])
        axes.minorticks_off()
        look._title(axes, theme, f"Figure {number}, ε = {epsilon:g}", f"{WORDS[measure]}; bands are one deviation")
        look._axes(axes, theme, "k")
    row[1].tick_params(labelleft=False)
    row[1].legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _variable(figure: Any, theme: Any, look: ModuleType, folder: Path) -> None:
    row = figure.subplots(1, 4, sharex=True)
    figure.subplots_adjust(left=0.035, right=0.985, bottom=0.14, top=0.82, wspace=0.16)
    for axes, epsilon in zip(row, PAPER["variable"], strict=True):
        fixed = expected_error(census(folder), epsilon, SIZES, "individual_ranking", params={"by": "mdav"})
        for name, colour in (("lost", look.SIX[2]), ("noise", look.SIX[1]), ("total", look.SIX[0])):
            word = {"lost": "by microaggregation", "noise": "by noise", "total": "IR_MDAV+DP_2, the sum"}[name]
            y = [getattr(e, name) / 1e9 for e in fixed]
            axes.plot(SIZES, y, color=colour, linewidth=2.0 if name == "total" else 1.3, label=word)
        ours = variable(epsilon, "least", folder)[1] / 1e9
        axes.axhline(ours, color=theme.accent, linewidth=2.2, label="least_error")
        least = min(fixed, key=lambda e: e.total)
        axes.scatter(least.k, least.total / 1e9, s=34, color=look.SIX[0], edgecolor=theme.paper, zorder=5)
        axes.set_xscale("log")
        axes.set_ylim(0, 2.6 * least.total / 1e9)
        axes.set_xticks([2, 10, 50, 200, 1000], ["2", "10", "50", "200", "1000"])
        axes.minorticks_off()
        line = f"least at k = {least.k}: {least.total / 1e9:.0f}; least_error {ours:.0f}"
        look._title(axes, theme, f"ε = {epsilon:g}", line)
        look._axes(axes, theme, "k")
    legend = row[0].legend(
        frameon=False,
        labelcolor=theme.ink,
        fontsize=8.5,
        loc="upper left",
        title="expected SSE in 10⁹",
        alignment="left",
    )
    legend.get_title().set(color=theme.faint, fontsize=8.5)
