"""[DS17] Figure 3: how far tuples of a stream move, and what it costs to keep them in order."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import drawing
import numpy as np

from shoal.stream import StreamAnonymizer

HOME = Path(__file__).parents[2]
PAPER = tomllib.loads((HOME / "tests" / "golden" / "ds17.toml").read_text(encoding="utf-8"))["stream"]
CASES: list[dict[str, Any]] = PAPER["case"]
WEIGHTS = [round(0.001 * step, 3) for step in range(101)]


class Moved(NamedTuple):
    """What the paper draws; MSE and MAE are of attributes scaled to 0 … 1."""

    largest: int
    average: float
    mse: float
    mae: float


def stream(X: np.ndarray, weight: float | str) -> tuple[np.ndarray, np.ndarray]:
    """The tuples in the order in which they leave, and the class of each, through the whole product."""
    names = [f"q{j}" for j in range(X.shape[1])]
    s = StreamAnonymizer(
        quasi=names, bounds=dict.fromkeys(names, (0, 1)), k=PAPER["k"], delay=PAPER["delay"], order_weight=weight
    )
    parts = [s.push_many(dict(zip(names, X.T, strict=True))), s.flush_many()]
    return np.concatenate([part.positions for part in parts]), np.concatenate([part.classes for part in parts])


def moved(X: np.ndarray, weight: float | str) -> Moved:
    """Measure a stream."""
    left, labels = stream(X, weight)
    far = np.abs(np.arange(len(left)) - left)
    sizes = np.bincount(labels)
    means = np.column_stack([np.bincount(labels, column) / sizes for column in X[left].T])
    apart = ((X[left] - means[labels]) ** 2).sum(axis=1)
    return Moved(int(far.max()), float(far.mean()), float(apart.mean()), float(np.sqrt(apart).mean()))


def report(X: np.ndarray) -> None:
    """Print displacements, printed ones beside ours."""
    print(f"\nFigure 3: MCD as a stream, k = {PAPER['k']}, δ = {PAPER['delay']}; largest / average displacement")
    for case in CASES:
        found = moved(X, case["weight"])
        print(
            f"  weight {case['weight']}: {case['printed_largest']} / {case['printed_average']} printed, "
            f"{found.largest} / {found.average:.2f} ours\n    {case['why']}"
        )
    for weight in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.06, 0.1, "keep"):
        found = moved(X, weight)
        print(
            f"  weight {weight:<5}: {found.largest:>3} / {found.average:5.2f}, MSE {found.mse:.4f}, MAE {found.mae:.4f}"
        )


def draw(X: np.ndarray) -> None:
    """Draw the figure, in the manner of the others."""
    found = [moved(X, weight) for weight in WEIGHTS]

    def fill(figure: Any, theme: Any, look: Any) -> None:
        row = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.06, right=0.97, bottom=0.15, top=0.82, wspace=0.18)
        for axes, (words, title) in zip(
            row, ((("largest", "average"), "displacement"), (("MSE", "MAE"), "error")), strict=True
        ):
            for word, colour in zip(words, look.SIX, strict=False):
                line = [getattr(one, word.lower()) for one in found]
                axes.plot(WEIGHTS, line, color=colour, linewidth=1.8, label=word)
                for case in CASES if title == "displacement" else ():
                    axes.plot(case["weight"], case[f"printed_{word}"], "x", color=colour, markersize=7)
            under = "k = 10, δ = 100; crosses are printed" if title == "displacement" else "attributes scaled to 0 … 1"
            look._title(axes, theme, f"MCD as a stream: {title}", under)
            look._axes(axes, theme, "weight of the position")
            axes.set_xlim(-0.001, WEIGHTS[-1])
            axes.set_ylim(bottom=0)
            axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9)

    drawing.draw("ds17_figure3", 10.8, 3.7, fill)
