"""[SC15] Figures 5 to 7, from our runs, each with what we have beyond the paper: the same classes, refined under t."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import drawing
import extent
from sc15 import ALGORITHMS, CENSUS, LEVELS, PATIENTS, K, Run, run

FINE = tuple(round(0.02 + 0.01 * step, 2) for step in range(24))  # 0.02 … 0.25
COARSE = (0.02, *LEVELS[1:])
SLOW = (0.02, 0.05, 0.13, 0.25)  # for the one method that takes most of a minute
SIZES = tuple(range(2, 31))
SOME_SIZES = SIZES[::4]
SHADES = (0.02, 0.05, 0.09, 0.13, 0.17, 0.25)
OURS = "ours"
LINES = (*ALGORITHMS, OURS)


def levels(data: str, line: int | str) -> Sequence[float]:
    """The t at which a line of Figures 5 and 6 is drawn."""
    if data == PATIENTS:
        return SLOW if line == 2 else COARSE
    return COARSE if line == OURS else FINE


def on_line(data: str, line: int | str, k: int, t: float, folder: Path, quick: bool = False) -> Run:
    """One point of a line: an algorithm, or ours, which is `auto`, and where that takes too long `t_first`, refined."""
    if line in ALGORITHMS:
        return run(data, ALGORITHMS[line], k, t, folder)
    if quick or data == PATIENTS:
        return run(data, "t_first", k, t, folder, "fast")
    return run(data, "auto", k, t, folder)


def name(line: int | str, data: str, quick: bool = False) -> str:
    """What the legend says."""
    if line in ALGORITHMS:
        return f"{line}  {ALGORITHMS[line]}"
    return "ours: t_first, refined" if quick or data == PATIENTS else "ours: auto"


def main(folder: Path) -> None:
    """Print what the figures show, and draw them."""
    warm(folder)
    print(f"\nFigure 5: CPU seconds, {PATIENTS}: 23,435 × 7 generated, k = {K}")
    for line in LINES:
        found = (f"{t:g} {on_line(PATIENTS, line, K, t, folder).cpu:.2f}" for t in levels(PATIENTS, line))
        print(f"  {name(line, PATIENTS):<24} t: {', '.join(found)}", flush=True)
    print(f"\nFigure 6: normalised SSE × 1000, k = {K}; the order of the three, the lowest first")
    for data in (*CENSUS, PATIENTS):
        ratios, weak = [], []
        for t in SLOW if data == PATIENTS else COARSE:
            found = {line: on_line(data, line, K, t, folder).loss for line in LINES}
            order = sorted(ALGORITHMS, key=found.__getitem__)
            losses = "; ".join(f"{name(line, data)} {1000 * loss:.3f}" for line, loss in found.items())
            ratios.append(found[OURS] / found[order[0]])
            print(f"  {data} t = {t:4.2f}: {losses}; order {order}; ours / best {ratios[-1]:.3f}", flush=True)
            if data in CENSUS and extent.full():
                loss = run(data, "auto", K, t, folder, attacker="table").loss
                weak.append(loss / found[order[0]])
                print(f"    auto, attacker = table {1000 * loss:.3f}; / best {weak[-1]:.3f}", flush=True)
        for word, ratio in (("ours", ratios), ("attacker = table", weak)):
            if ratio:
                mean = sum(ratio) / len(ratio)
                print(f"  {data}: {word} / best of the three {mean:.3f} on average, at most {max(ratio):.3f}")
    print_figure7(folder)
    drawing.draw("sc15_figure5", 6.4, 3.9, lambda *canvas: _figure5(*canvas, folder))
    drawing.draw("sc15_figure6", 13.2, 4.1, lambda *canvas: _figure6(*canvas, folder))
    drawing.draw("sc15_figure7", 13.2, 3.9, lambda *canvas: _figure7(*canvas, folder))


def warm(folder: Path) -> None:
    """Compile, so that no time holds it; a t of its own, for runs are kept."""
    for line in LINES:
        on_line(PATIENTS, line, K, 0.26, folder)


def print_figure7(folder: Path) -> None:
    """Print where each of the three has the lowest loss, and how far below ours is."""
    print("\nFigure 7: normalised SSE × 1000, MCD; k = 2, 10, 30 for some t, then over all k and t drawn")
    for line in LINES:
        shown = (
            f"{t:g} " + "/".join(f"{1000 * on_line('MCD', line, k, t, folder, True).loss:.2f}" for k in (2, 10, 30))
            for t in SHADES
        )
        print(f"  {name(line, 'MCD', True):<24} t: {', '.join(shown)}")
    places = [(k, t) for k in SIZES for t in SHADES]
    best = {at: min(ALGORITHMS, key=lambda line: on_line("MCD", line, *at, folder).loss) for at in places}
    counts = ", ".join(f"{line} in {list(best.values()).count(line)}" for line in ALGORITHMS)
    print(f"  lowest of the three: {counts} of {len(places)}")
    ratios = [
        on_line("MCD", OURS, *at, folder, True).loss / on_line("MCD", best[at], *at, folder).loss
        for at in places
        if at[0] in SOME_SIZES
    ]
    print(f"  ours / best of the three: {sum(ratios) / len(ratios):.3f} on average, at most {max(ratios):.3f}")


def _line(axes: Any, theme: Any, look: ModuleType, line: int | str, xy: tuple[Any, Any], word: str) -> None:
    """Ours stands out; the three are as the legend says."""
    colour = theme.accent if line == OURS else look.SIX[LINES.index(line)]
    marker = {"marker": "o", "markersize": 4} if len(xy[0]) < 10 else {}
    axes.plot(*xy, color=colour, linewidth=2.4 if line == OURS else 1.7, label=word, **marker)


def _figure5(figure: Any, theme: Any, look: ModuleType, folder: Path) -> None:
    axes = figure.subplots()
    figure.subplots_adjust(left=0.1, right=0.69, bottom=0.14, top=0.83)
    for line in LINES:
        x = levels(PATIENTS, line)
        y = [on_line(PATIENTS, line, K, t, folder).cpu for t in x]
        _line(axes, theme, look, line, (x, y), name(line, PATIENTS))
    axes.set_yscale("log")
    look._title(axes, theme, "Figure 5", f"CPU seconds; 23,435 × 7 generated records, k = {K}")
    look._axes(axes, theme, "t")
    axes.tick_params(which="both", colors=theme.faint)
    axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _figure6(figure: Any, theme: Any, look: ModuleType, folder: Path) -> None:
    row = figure.subplots(1, 3)
    figure.subplots_adjust(left=0.045, right=0.985, bottom=0.13, top=0.83, wspace=0.17)
    words = {"HCD": "confidential FICA", "MCD": "confidential FEDTAX", PATIENTS: "23,435 × 7 generated records"}
    for axes, data in zip(row, ("HCD", "MCD", PATIENTS), strict=True):
        for line in LINES:
            x = levels(data, line)
            y = [on_line(data, line, K, t, folder).loss for t in x]
            _line(axes, theme, look, line, (x, y), name(line, data))
        look._title(axes, theme, f"Figure 6, {data}", f"normalised SSE; {words[data]}, k = {K}")
        look._axes(axes, theme, "t")
        axes.set_ylim(0)
        if data != "HCD":  # there is no room, and the colours are those of the next panel
            low = "lower left" if data == "MCD" else "upper right"
            axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc=low)


def _figure7(figure: Any, theme: Any, look: ModuleType, folder: Path) -> None:
    row = figure.subplots(1, 4, sharey=True)
    figure.subplots_adjust(left=0.045, right=0.905, bottom=0.14, top=0.82, wspace=0.08)
    darkest = 0.26 if theme.name == "dark" else 0.08  # so that every shade stands out from the page
    for axes, line in zip(row, LINES, strict=True):
        sizes = SOME_SIZES if line == OURS else SIZES
        for place, t in enumerate(SHADES):
            y = [on_line("MCD", line, k, t, folder, True).loss for k in sizes]
            colour = look.mpl.colormaps["viridis"](darkest + 0.72 * place / (len(SHADES) - 1))
            axes.plot(sizes, y, color=colour, linewidth=1.6, label=f"t = {t:g}")
        look._title(axes, theme, name(line, "MCD", True), "normalised SSE; MCD", size=11.5)
        look._axes(axes, theme, "k")
        axes.set_ylim(0)
    row[-1].legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
