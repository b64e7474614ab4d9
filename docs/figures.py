"""Figures of the documentation, drawn from real runs: ``python docs/figures.py [FOLDER] [FIGURE ...]``.

Without names, all figures are drawn. Each figure exists for a light and for a dark page. The same versions of shoal
and matplotlib give the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Polygon
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

import shoal

Array = NDArray[np.float64]
IMAGES = Path(__file__).parent / "images"
SIX = ("#2f7fd6", "#e08a1e", "#2a9d76", "#c8509b", "#7a62d3", "#d1495b")


@dataclass(frozen=True)
class Theme:
    """The colours of a page."""

    name: str
    paper: str
    edge: str
    ink: str
    faint: str
    water: str
    accent: str
    depth: float  #: how strongly the hull of a class is coloured


THEMES = (
    Theme("light", "#ffffff", "#d9e0e8", "#22303f", "#8a97a6", "#5b7690", "#c2334a", 0.17),
    Theme("dark", "#151b24", "#2b3644", "#e6edf5", "#8492a3", "#9bb4cc", "#ff8094", 0.3),
)


def main() -> None:
    """Draw the named figures, or all of them, for all themes."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    named = sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        for draw in FIGURES:
            if named and draw.__name__ not in named:
                continue
            figure = draw(theme)
            figure.savefig(
                folder / f"{draw.__name__}-{theme.name}.png",
                dpi=160,
                transparent=True,
                metadata={"Software": None},
            )
            plt.close(figure)


# --- the figures


def shoals(theme: Theme) -> Figure:
    """Draw people by age and income, then the same people drawn together to the centroids of their classes."""
    people = _people(140)
    done = shoal.protect(people, {"quasi": ["age", "income"], "k": 5})
    before, after, labels = _xy(people), _xy(done.data), done.partition.labels
    colours = _coloured(before, labels)
    figure = _card(theme, 10.4, 4.75)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.072, right=0.975, bottom=0.13, top=0.855, wspace=0.06)
    left.scatter(*before.T, s=30, color=theme.water, edgecolor=theme.paper, linewidth=0.6, zorder=3)
    for label, colour in enumerate(colours):
        members = before[labels == label]
        centre = after[labels == label][0]
        right.add_patch(_hull(members, colour, theme))
        for member in members:
            right.plot(*zip(member, centre, strict=True), color=colour, linewidth=0.9, alpha=0.75, zorder=2)
        right.scatter(*members.T, s=10, color=colour, linewidth=0, alpha=0.8, zorder=3)
        right.scatter(*centre, s=58, color=colour, edgecolor=theme.paper, linewidth=1.2, zorder=4)
    _title(left, theme, "As collected", f"{len(before)} people, each unique")
    _title(
        right, theme, "In shoals", f"{len(colours)} classes of at least 5, each released as its centroid (large dot)"
    )
    for axes in (left, right):
        _axes(axes, theme, "age")
        axes.set_yticks(range(0, 100_000, 20_000), ["0", *(f"{thousands} k" for thousands in range(20, 100, 20))])
        axes.set_ylim(0, before[:, 1].max() * 1.04)
    left.set_ylabel("income", color=theme.faint)
    right.tick_params(labelleft=False)
    return figure


def mdav_steps(theme: Theme) -> Figure:
    """Draw MDAV at work: the first class, the second, half way, the end."""
    k = 4
    X = np.random.default_rng(11).normal(size=(46, 2)) @ np.array([[1.25, 0.25], [0.0, 0.8]])
    part = shoal.microaggregate(X, k=k)
    labels, colours = part.labels, _coloured(X, part.labels)
    figure = _card(theme, 10.4, 3.3)
    row = figure.subplots(1, 4, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.025, right=0.975, bottom=0.055, top=0.8, wspace=0.06)
    words = (
        ("1  Farthest from the centroid c", "record r and its k − 1 nearest"),
        ("2  Farthest from r", "record s and its k − 1 nearest"),
        ("3  Repeat with the rest", f"{len(part) // 2} of {len(part)} classes"),
        ("4  Until every record has a class", f"k = {k}: classes of {part.sizes.min()} to {part.sizes.max()}"),
    )
    r = X[_farthest(X, X.mean(axis=0))]
    s = X[labels != 0][_farthest(X[labels != 0], r)]
    for axes, shown, (head, line) in zip(row, (1, 2, len(part) // 2, len(part)), words, strict=True):
        rest = labels >= shown
        axes.scatter(*X[rest].T, s=20, color=theme.water, alpha=0.75, linewidth=0, zorder=2)
        for label in range(shown):
            members = X[labels == label]
            axes.add_patch(_hull(members, colours[label], theme))
            axes.scatter(*members.T, s=20, color=colours[label], linewidth=0, zorder=3)
        _title(axes, theme, head, line, size=9.6)
        _empty(axes, theme)
    _arrow(row[0], theme, X.mean(axis=0), r, "c", "r")
    _arrow(row[1], theme, r, s, "r", "s")
    row[0].set_xlim(X[:, 0].min() - 0.75, X[:, 0].max() + 0.75)
    row[0].set_ylim(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5)
    return figure


def v_mdav_clumps(theme: Theme) -> Figure:
    """Draw clumps of uneven size, partitioned by MDAV and by V-MDAV."""
    k = 3
    rng = np.random.default_rng(8)
    centres = ((0.0, 0.0), (3.1, 0.6), (1.4, 2.3), (4.6, 2.6), (6.3, 0.9), (0.2, 4.2), (3.2, 4.5), (6.1, 4.4))
    sizes = (4, 3, 4, 3, 4, 3, 4, 4)
    X = np.concatenate([rng.normal(c, 0.27, (size, 2)) for c, size in zip(centres, sizes, strict=True)])
    figure = _card(theme, 10.4, 4.1)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.05, top=0.835, wspace=0.06)
    for axes, method, given, name in (
        (panels[0], "mdav", {}, "MDAV"),
        (panels[1], "v_mdav", {"gamma": 1.1}, "V-MDAV, γ = 1.1"),
    ):
        part = shoal.microaggregate(X, k, method=method, **given)
        colours = _coloured(X, part.labels)
        for label, colour in enumerate(colours):
            members = X[part.labels == label]
            axes.add_patch(_hull(members, colour, theme))
            axes.scatter(*members.T, s=26, color=colour, linewidth=0, zorder=3)
        loss = _loss(X, part.labels)
        _title(axes, theme, name, f"k = {k}: classes of {part.sizes.min()} to {part.sizes.max()}, IL {loss:.1f} %")
        _empty(axes, theme)
    panels[0].set_xlim(X[:, 0].min() - 0.5, X[:, 0].max() + 0.5)
    panels[0].set_ylim(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5)
    return figure


def optimal_univariate_cut(theme: Theme) -> Figure:
    """Draw one attribute as records on a line, cut by MDAV and cut where the loss is least."""
    k = 3
    people = shoal.survey(400, seed=4)
    values = np.sort(people["income"].to_numpy().astype(float))[-38:] / 1000
    X = values[:, None]
    figure = _card(theme, 10.4, 3.3)
    rows = figure.subplots(2, 1, sharex=True)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.14, top=0.815, hspace=0.85)
    for axes, method, name in ((rows[0], "mdav", "MDAV"), (rows[1], "optimal_univariate", "Optimal cut")):
        part = shoal.microaggregate(X, k, method=method)
        first = {int(label): row for row, label in reversed(list(enumerate(part.labels)))}
        for number, label in enumerate(sorted(first, key=lambda label: first[label])):
            members, colour = values[part.labels == label], SIX[number % len(SIX)]
            axes.axvspan(members.min(), members.max(), color=colour, alpha=theme.depth, linewidth=0)
            axes.scatter(members, np.zeros(len(members)), s=30, color=colour, edgecolor=theme.paper, linewidth=0.6)
            axes.scatter(members.mean(), 0, s=150, marker="|", color=theme.ink, linewidth=1.4, zorder=4)
        loss = _loss(X, part.labels)
        _title(axes, theme, name, f"k = {k}: classes of {part.sizes.min()} to {part.sizes.max()}, IL {loss:.2f} %")
        _axes(axes, theme, "")
        axes.spines["left"].set_visible(False)
        axes.set_yticks([])
        axes.set_ylim(-1, 1)
    rows[0].tick_params(labelbottom=False)
    rows[1].set_xlabel("income in thousands; a stroke marks the released mean of a class", color=theme.faint)
    return figure


def individual_ranking_cells(theme: Theme) -> Figure:
    """Draw people by age and income, each attribute cut separately, and the records that both make unique."""
    people = _people(40)
    k = 5
    X = _xy(people) / [1, 1000]
    part = shoal.microaggregate(X, k, method="individual_ranking")
    together = part.sizes[part.labels]
    figure = _card(theme, 10.4, 4.6)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.07, right=0.975, bottom=0.13, top=0.85, wspace=0.06)
    for axes in panels:
        for block, span in zip(part.blocks, (axes.axvspan, axes.axhspan), strict=True):
            values = X[:, int(block.attributes[0])]
            for label in range(len(block)):
                members = values[block.labels == label]
                span(members.min(), members.max(), color=SIX[label % 6], alpha=theme.depth * 0.8, linewidth=0)
        _axes(axes, theme, "age")
    panels[0].scatter(*X.T, s=30, color=theme.water, edgecolor=theme.paper, linewidth=0.6, zorder=3)
    released = np.column_stack([_means(X[:, j], block.labels) for j, block in enumerate(part.blocks)])
    alone = together == 1
    panels[1].scatter(*released[~alone].T, s=60, color=theme.water, edgecolor=theme.paper, linewidth=0.6, zorder=3)
    panels[1].scatter(*released[alone].T, s=60, color=theme.accent, edgecolor=theme.paper, linewidth=0.6, zorder=4)
    _title(panels[0], theme, "Each attribute cut separately", f"{len(X)} people; every strip holds at least {k}")
    _title(panels[1], theme, "Released", f"{int(alone.sum())} of {len(X)} (red) are unique on age and income")
    panels[0].set_ylabel("income in thousands", color=theme.faint)
    panels[1].tick_params(labelleft=False)
    return figure


def least_error_sizes(theme: Theme) -> Figure:
    """Draw one attribute cut into classes of at least k and of the sizes of least error, with the noise of each."""
    from shoal.types import Points

    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks" / "papers"))
    from expected_error import expected_error

    epsilon, widths = 1.0, np.array([200.0])
    values = np.sort(shoal.survey(600, seed=4)["income"].to_numpy().astype(float)) / 1000
    points = Points(values[:, None], widths=widths)
    fixed = min(expected_error(points, epsilon, range(2, 300), "individual_ranking"), key=lambda e: e.total)
    (free,) = expected_error(points, epsilon, [2], "least_error", params={"epsilon": epsilon})
    figure = _card(theme, 10.4, 4.3)
    rows = figure.subplots(2, 1, sharex=True)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.12, top=0.84, hspace=0.72)
    for axes, method, error, name in (
        (rows[0], "individual_ranking", fixed, f"At least k = {fixed.k}, the best k"),
        (rows[1], "least_error", free, "Sizes of least error"),
    ):
        made = shoal.registry.load("partition", method)(k=error.k)
        block = made.partition(points, np.random.default_rng(0)).blocks[0]
        for label, size in enumerate(block.sizes):
            members, colour = values[block.labels == label], SIX[label % len(SIX)]
            mean, noise = members.mean(), np.sqrt(2) * widths[0] / (size * epsilon)
            axes.axvspan(members.min(), members.max(), color=colour, alpha=theme.depth, linewidth=0)
            axes.scatter(members, np.zeros(size), s=16, color=colour, alpha=0.6, linewidth=0, zorder=3)
            axes.plot((mean - noise, mean + noise), (0.45, 0.45), color=theme.ink, linewidth=1.6, zorder=4)
            axes.scatter(mean, 0.45, s=26, color=colour, edgecolor=theme.ink, linewidth=1.1, zorder=5)
            axes.annotate(f"{size}", (mean, -0.62), color=theme.faint, fontsize=8.5, ha="center", va="center")
        parts = f"{error.lost:,.0f} from means, {error.noise:,.0f} from noise"
        _title(axes, theme, name, f"{len(block)} classes; error {error.total:,.0f}: {parts}")
        _axes(axes, theme, "")
        axes.spines["left"].set_visible(False)
        axes.set_yticks([])
        axes.set_ylim(-1, 1)
    rows[0].tick_params(labelbottom=False)
    rows[1].set_xlabel(
        "income in thousands, domain 0 to 200, ε = 1; a bar shows the noise of a class, ± 1 standard deviation",
        color=theme.faint,
    )
    return figure


def pcp_axis(theme: Theme) -> Figure:
    """Draw points with their first principal axis, and the classes that PCP cuts along it; beside it MDAV."""
    k = 5
    X = np.random.default_rng(3).normal(size=(90, 2)) @ np.array([[1.7, 0.9], [0.0, 0.35]])
    figure = _card(theme, 10.4, 4.0)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.05, top=0.83, wspace=0.06)
    for axes, method, name in ((panels[0], "pcp", "PCP"), (panels[1], "mdav", "MDAV")):
        _classes(axes, theme, X, shoal.microaggregate(X, k, method=method), name)
    axis = np.linalg.eigh(np.cov(X, rowvar=False))[1][:, -1]
    ends = np.array([-1.0, 1.0])[:, None] * axis * np.abs((X - X.mean(axis=0)) @ axis).max() + X.mean(axis=0)
    panels[0].plot(*ends.T, color=theme.accent, linewidth=1.4, zorder=4)
    return figure


def zscores_sum(theme: Theme) -> Figure:
    """Draw the classes of the sum of z-scores, where attributes rise together and where one falls."""
    k = 5
    X = np.random.default_rng(3).normal(size=(90, 2)) @ np.array([[1.7, 0.9], [0.0, 0.35]])
    figure = _card(theme, 10.4, 4.0)
    panels = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.05, top=0.83, wspace=0.06)
    _classes(panels[0], theme, X, shoal.microaggregate(X, k, method="zscores"), "Attributes that rise together")
    Y = X * [1.0, -1.0]
    _classes(
        panels[1], theme, Y, shoal.microaggregate(Y, k, method="zscores"), "One attribute falls: the sum cancels out"
    )
    return figure


def mic1d_values(theme: Theme) -> Figure:
    """Draw released values against original values, for two k."""
    people = shoal.survey(800, seed=4).select(["income", "commute_minutes"])
    X = np.column_stack([people.column(j).to_numpy().astype(float) for j in range(2)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    figure = _card(theme, 10.4, 4.4)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.065, right=0.975, bottom=0.13, top=0.84, wspace=0.06)
    for axes, k in zip(panels, (20, 400), strict=True):
        values = shoal.microaggregate(X, k, method="mic1d").blocks[0].values
        same = int(np.isclose(values, X, rtol=0, atol=1e-12).sum())
        for j, name in enumerate(("income", "commute")):
            axes.scatter(X[:, j], values[:, j], s=9, color=SIX[j], alpha=0.8, linewidth=0, label=name)
        _title(axes, theme, f"k = {k} values", f"{same} of {X.size:,} values are released unchanged")
        _axes(axes, theme, "original value, standardised")
    panels[0].set_ylabel("released value", color=theme.faint)
    panels[0].legend(frameon=False, labelcolor=theme.ink, fontsize=9, markerscale=2)
    return figure


def tour_path(theme: Theme) -> Figure:
    """Draw a short path through records, and the classes that the best cut makes of it."""
    from shoal.kernels.order.tour import tour_cut

    k = 4
    rng = np.random.default_rng(12)
    X = np.concatenate([rng.normal(c, s, (m, 2)) for c, s, m in (((0, 0), 1.0, 45), ((4.2, 0.8), 0.8, 30))])
    cut = tour_cut(np.ascontiguousarray(X), k)
    part = shoal.microaggregate(X, k, method="tour")
    figure = _card(theme, 10.4, 3.9)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.05, top=0.825, wspace=0.06)
    path = X[cut.order]
    for label, colour in enumerate(_coloured(X, part.labels)):
        members = X[part.labels == label]
        right.add_patch(_hull(members, colour, theme))
        right.scatter(*members.T, s=26, color=colour, linewidth=0, zorder=3)
    left.plot(*path.T, color=SIX[0], linewidth=1.3, zorder=2)
    left.scatter(*X.T, s=20, color=theme.water, edgecolor=theme.paper, linewidth=0.5, zorder=3)
    for at in cut.bounds[1:-1]:
        left.scatter(
            *(path[at - 1 : at + 1].mean(axis=0)), s=46, marker="x", color=theme.accent, linewidth=1.6, zorder=4
        )
    _title(left, theme, "A short path", f"through all {len(X)} records; crosses mark the cuts")
    _title(
        right,
        theme,
        "Its classes",
        f"k = {k}: {len(part)} of {part.sizes.min()} to {part.sizes.max()} records, IL {_loss(X, part.labels):.1f} %;"
        f" MDAV loses {_loss(X, shoal.microaggregate(X, k).labels):.1f} %",
    )
    for axes in (left, right):
        _empty(axes, theme)
    return figure


def blocks_seams(theme: Theme) -> Figure:
    """Draw blocks of records: partitioned separately, reassigned as whole classes, and repaired."""
    from shoal.kernels.refine.blockwise import Memory, cuts_for
    from shoal.kernels.refine.cuts import block_of
    from shoal.kernels.refine.reblock import whole_classes

    k, size = 5, 80
    X = np.random.default_rng(3).random((4 * size, 2)) * np.array([1.5, 1.0])
    alone = shoal.microaggregate(X, k, method="blocks", size=size, rounds=0).labels
    repaired = shoal.microaggregate(X, k, method="blocks", size=size).labels
    home = block_of(cuts_for(Memory(X), 4, size // 8), X)
    order, bounds = np.argsort(home, kind="stable"), np.cumsum([0, *np.bincount(home)])
    new, ends = whole_classes(X, alone.astype(np.int32), int(alone.max()) + 1, 5, 1)
    figure = _card(theme, 10.4, 3.3)
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.02, right=0.98, bottom=0.05, top=0.79, wspace=0.05)
    shown = (
        (panels[0], alone, order, bounds, "Four blocks", f"each partitioned on its own: IL {_loss(X, alone):.2f} %"),
        (panels[1], alone, new, ends, "Five other blocks", "of the same classes, cut in other directions"),
        (
            panels[2],
            repaired,
            order,
            bounds,
            "Repaired",
            f"IL {_loss(X, repaired):.2f} %; red classes cross an old border",
        ),
    )
    for axes, labels, rows, cuts, name, line in shown:
        home = np.empty(len(X), dtype=int)
        home[rows] = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
        for label in range(labels.max() + 1):
            blocks = np.unique(home[labels == label])
            colour = SIX[blocks[0]] if name != "Repaired" else theme.water if len(blocks) == 1 else theme.accent
            axes.add_patch(_hull(X[labels == label], colour, theme))
            axes.scatter(*X[labels == label].T, s=6, color=colour, linewidth=0)
        _title(axes, theme, name, line, size=11)
        _empty(axes, theme)
    return figure


def anneal_cooling(theme: Theme) -> Figure:
    """Draw the classes of MDAV beside those of anneal, and the loss of one annealing as it cools."""
    k = 4
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(c, s, (m, 2)) for c, s, m in (((0, 0), 1.0, 60), ((3.6, 1.2), 0.7, 36))])
    before, after = shoal.microaggregate(X, k), shoal.microaggregate(X, k, method="anneal")
    figure = _card(theme, 10.4, 3.5)
    panels = figure.subplots(1, 3)
    figure.subplots_adjust(left=0.02, right=0.975, bottom=0.15, top=0.8, wspace=0.1)
    _classes(panels[0], theme, X, before, "MDAV")
    _classes(panels[1], theme, X, after, "anneal")
    moves, temperatures, losses = _cooling(X, before.labels, k)
    axes = panels[2]
    place = axes.get_position()
    axes.set_position((place.x0 + 0.045, place.y0, place.width - 0.045, place.height))
    axes.plot(moves / 1e3, losses, color=SIX[0], linewidth=1.4)
    for part, name, colour in ((before, "MDAV", theme.faint), (after, "anneal", theme.accent)):
        loss = _loss(X, part.labels)
        axes.axhline(loss, color=colour, linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate(
            name, (moves[-1] / 1e3, loss), (0, -12), textcoords="offset points", ha="right", color=colour, fontsize=9
        )
    _title(axes, theme, "One cooling", f"IL in %; T falls from {temperatures[0]:g} to {temperatures[-2]:g}")
    _axes(axes, theme, "moves tried, in thousands")
    axes.set_ylim(0.9 * min(losses), 1.07 * max(losses))
    return figure


def _cooling(points: Array, labels: NDArray[np.int64], k: int) -> tuple[Array, Array, list[float]]:
    """Return moves tried so far, temperatures and losses of one annealing, stage by stage."""
    from shoal.kernels.refine import annealing
    from shoal.kernels.refine.class_state import arrange, total_sse

    where = annealing.ground(np.ascontiguousarray(points), k)
    a, random = arrange(where.x, labels, k), np.array([1], np.uint64)
    calls = annealing.schedule(400_000, 100 * len(points), annealing.HOT)
    total, losses = ((points - points.mean(axis=0)) ** 2).sum(), []
    for _, temperature, some in calls:
        annealing._anneal(a, where, k, some, temperature, random)
        losses.append(float(100 * total_sse(a) / total))
    moves = np.cumsum([some for _, _, some in calls])
    return moves, np.array([temperature for _, temperature, _ in calls]), losses


def t_first_subsets(theme: Theme) -> Figure:
    """Draw subsets by confidential value, a class with a record of each, all classes, and how close they are."""
    from shoal.kernels.closeness.earth_mover import closeness, distances
    from shoal.kernels.space.nearest_per_subset import subset_of_rows
    from shoal.types import Confidential

    k, t, n = 3, 0.17, 48
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 2)) @ np.array([[1.25, 0.2], [0.0, 0.8]])
    values = 0.5 * X[:, 0] + rng.normal(size=n)
    part = shoal.microaggregate(X, k, method="t_first", confidential=values, t=t)
    colours = np.array(SIX[:k])[subset_of_rows(values, k)]
    figure = _card(theme, 10.4, 3.5)
    row = figure.subplots(1, 4)
    figure.subplots_adjust(left=0.025, right=0.945, bottom=0.13, top=0.815, wspace=0.08)
    words = (
        ("1  Subsets", "low, middle, high value"),
        ("2  Farthest from the centroid c", "and the nearest of each subset"),
        (
            "3  Until every record has a class",
            f"{len(part)} classes of {part.sizes.min()}, IL {_loss(X, part.labels):.0f} %",
        ),
    )
    x0 = _farthest(X, X.mean(axis=0))
    shown = ([], [int(part.labels[x0])], list(range(len(part))))
    for axes, drawn, (head, line) in zip(row, shown, words, strict=False):
        for label in drawn:
            members = X[part.labels == label]
            axes.add_patch(_hull(members, theme.water, theme))
            for member in members:
                axes.plot(*zip(member, members.mean(axis=0), strict=True), color=theme.water, linewidth=0.8, zorder=2)
        axes.scatter(*X.T, s=20, color=colours, linewidth=0, zorder=3)
        _title(axes, theme, head, line, size=9.6)
        _empty(axes, theme)
        axes.set_xlim(X[:, 0].min() - 1.15, X[:, 0].max() + 0.5)
        axes.set_ylim(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5)
    _arrow(row[1], theme, X.mean(axis=0), X[x0], "c", "x₀")
    ranks = Confidential("value", np.argsort(np.argsort(values)), np.ones(n, np.int64))
    for name, labels, colour in (
        ("MDAV", shoal.microaggregate(X, k).labels, theme.faint),
        ("t_first", part.labels, SIX[0]),
    ):
        far = np.sort(distances(closeness([ranks], t), labels)[0][0])
        row[3].plot(range(1, len(far) + 1), far, "o-", color=colour, markersize=3.5, linewidth=1, label=name)
    row[3].axhline(t, color=theme.accent, linewidth=1.2, linestyle="--")
    row[3].annotate("t", (1, t), (0, 3), textcoords="offset points", color=theme.accent, fontsize=9.5)
    row[3].legend(frameon=False, labelcolor=theme.ink, fontsize=8.5, loc="upper left", bbox_to_anchor=(0.02, 0.93))
    _title(row[3], theme, "4  Distance from the table", "EMD of every class, sorted", size=9.6)
    _axes(row[3], theme, "class")
    row[3].yaxis.tick_right()
    row[3].spines["left"].set_visible(False)
    row[3].set_yticks(np.arange(0.0, 0.5, 0.1))
    row[3].set_ylim(0, 0.5)
    return figure


def t_close_merge_far(theme: Theme) -> Figure:
    """Draw the classes of MDAV, those too far from the table marked, and the result of merging."""
    X, secret = _correlated(90, 1.2)
    before = shoal.microaggregate(X, 3)
    after = shoal.microaggregate(X, 3, method="t_close_merge", confidential=secret, t=0.2)
    return _close_panels(theme, X, secret, 0.2, (("MDAV", before), ("Merged until t = 0.2", after)))


def k_first_exchanged(theme: Theme) -> Figure:
    """Draw classes of weakly correlated records by merging alone, and by k-anonymity-first."""
    X, secret = _correlated(90, 4.0)
    merged, first = (
        shoal.microaggregate(X, 3, method=method, confidential=secret, t=0.15)
        for method in ("t_close_merge", "k_first")
    )
    return _close_panels(theme, X, secret, 0.15, (("Merging alone", merged), ("k-anonymity-first", first)))


def insensitive_strips(theme: Theme) -> Figure:
    """Draw the order of a domain that no record can change, and how far one record moves the means."""
    from shoal.partition.insensitive import Insensitive, least_noise, moves, numbers, snake_order
    from shoal.types import Points

    k, n = 5, 80
    X = np.random.default_rng(3).beta(2.2, 2.6, (n, 2))
    block = Insensitive(k).partition(Points(X, widths=np.ones(2), lows=np.zeros(2)), np.random.default_rng(0)).blocks[0]
    figure = _card(theme, 10.4, 4.3)
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.03, right=0.965, bottom=0.13, top=0.83, wspace=0.16)
    for cut in range(1, block.strips[0]):
        left.axvline(cut / block.strips[0], color=theme.faint, linewidth=1, linestyle=(0, (4, 4)), zorder=1)
    left.plot(*X[snake_order(numbers(X), block.strips)].T, color=theme.water, linewidth=0.9, alpha=0.7, zorder=2)
    for label, colour in enumerate(_coloured(X, block.labels)):
        members = X[block.labels == label]
        left.add_patch(_hull(members, colour, theme))
        left.scatter(*members.T, s=24, color=colour, linewidth=0, zorder=3)
    _title(
        left,
        theme,
        "An order of the domain",
        f"{block.strips[0]} strips, alternately up and down; a class every {k} records",
    )
    _empty(left, theme)
    left.set(xlim=(0, 1), ylim=(0, 1))
    classes = np.arange(1, 201)
    ours = [sum(moves(int(c), least_noise(int(c), numbers(np.empty((0, 2)))))) for c in classes]
    for values, colour, name in ((2 * classes, SIX[5], "any order"), (ours, SIX[0], "strips")):
        right.plot(classes, values, color=colour, linewidth=2.2)
        place = (classes[-1], values[-1])
        right.annotate(name, place, (-4, 7), textcoords="offset points", ha="right", color=theme.ink, fontsize=9.5)
    _title(
        right,
        theme,
        "How far one record moves the means",
        "two attributes, in widths of the domain",
    )
    _axes(right, theme, "number of classes")
    right.grid(axis="y", color=theme.edge, linewidth=0.8)
    right.set_axisbelow(True)
    right.set(xlim=(0, 202), ylim=(0, 450))
    return figure


def loss_by_k(theme: Theme) -> Figure:
    """Draw the information loss of the synthetic survey against k."""
    sizes = (2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50)
    survey = shoal.survey()
    quasi = ["birth", "income", "commute_minutes"]
    losses = [shoal.protect(survey, {"quasi": quasi, "k": k}).readings["il_sse"] for k in sizes]
    figure = _card(theme, 7.4, 3.7)
    axes = figure.subplots()
    figure.subplots_adjust(left=0.095, right=0.955, bottom=0.16, top=0.82)
    axes.fill_between(sizes, losses, color=SIX[0], alpha=0.13, linewidth=0)
    axes.plot(sizes, losses, color=SIX[0], linewidth=2.2, marker="o", markersize=5.5, markeredgecolor=theme.paper)
    for k, loss in zip(sizes, losses, strict=True):
        if k in (5, 10, 20, 50):
            axes.annotate(
                f"{loss:.1f} %",
                (k, loss),
                (-5, 6),
                textcoords="offset points",
                ha="right",
                color=theme.ink,
                fontsize=9.5,
            )
    _title(
        axes,
        theme,
        "Larger classes, larger loss",
        "MDAV on the synthetic survey: 3 quasi-identifiers, no strata, no weights",
    )
    _axes(axes, theme, "k, the smallest class")
    axes.set_ylabel("IL in %", color=theme.faint)
    axes.set_xlim(0, 52)
    axes.set_ylim(0, max(losses) * 1.16)
    axes.grid(axis="y", color=theme.edge, linewidth=0.8)
    axes.set_axisbelow(True)
    return figure


def explore_frontier(theme: Theme) -> Figure:
    """Draw loss and risk of settings on the synthetic survey, the frontier, and the recommended setting."""
    base = {"quasi": ["birth", "income", "commute_minutes"]}
    found = shoal.explore(shoal.survey(), base, k=(3, 4, 5, 7, 10, 15, 25, 40))
    figure = _card(theme, 7.4, 4.3)
    axes = figure.subplots()
    figure.subplots_adjust(left=0.095, right=0.955, bottom=0.14, top=0.84)
    front = [(one.loss, one.risk) for one in found.frontier]
    axes.plot(*zip(*front, strict=True), color=theme.faint, linewidth=1.1, linestyle=(0, (4, 3)), zorder=1)
    methods = list(dict.fromkeys(one.method for one in found.settings))
    for at, method in enumerate(methods):
        some = [one for one in found.settings if one.method == method]
        places = [[one.loss for one in some], [one.risk for one in some]]
        style = {"s": 42, "marker": "os^D"[at % 4], "color": SIX[at % 6], "edgecolor": theme.paper, "linewidth": 0.6}
        axes.scatter(*places, label=method, zorder=3, **style)
    lowest = [one for one in found.settings if one.method == methods[-1]]
    for one in lowest:
        axes.annotate(
            f"k = {one.asked[0]}",
            (one.loss, one.risk),
            (-7, -9),
            textcoords="offset points",
            ha="right",
            color=theme.faint,
            fontsize=9,
        )
    best = found.recommended
    axes.scatter(best.loss, best.risk, s=190, facecolor="none", edgecolor=theme.accent, linewidth=2, zorder=4)
    axes.annotate(
        f"recommended: {best.name}",
        (best.loss, best.risk),
        (14, 12),
        textcoords="offset points",
        color=theme.accent,
        fontsize=10,
    )
    axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9.5)
    _title(
        axes,
        theme,
        "Loss against risk",
        f"{len(found.settings)} settings on the synthetic survey; down and left is better",
    )
    _axes(axes, theme, "loss: IL in %")
    axes.set_ylabel("risk: DLD in %", color=theme.faint)
    axes.set_xlim(0)
    axes.set_ylim(0)
    axes.grid(color=theme.edge, linewidth=0.8)
    axes.set_axisbelow(True)
    return figure


def explore_noise(theme: Theme) -> Figure:
    """Draw the expected loss of the synthetic survey against k, by way, and the two parts of one of them."""
    bounds = {"income": [0, 500_000], "commute_minutes": [0, 240]}
    found = shoal.explore(shoal.survey(), {"quasi": list(bounds)}, epsilon=1.0, bounds=bounds)
    figure = _card(theme, 10.2, 4.4)
    left, right = figure.subplots(1, 2, sharey=True)
    figure.subplots_adjust(left=0.098, right=0.975, bottom=0.14, top=0.83, wspace=0.07)
    for at, (way, some) in enumerate(found.ways.items()):
        if some[0].sized:
            places = [[one.asked[0] for one in some], [one.loss for one in some]]
            style = {"marker": "os^D"[at % 4], "markersize": 5, "markeredgecolor": theme.paper, "linewidth": 1.8}
            left.plot(*places, color=SIX[at], label=way, **style)
        elif some[0] is found.recommended:
            left.axhline(some[0].loss, color=SIX[at], linewidth=1.6, linestyle=(0, (7, 3, 2, 3)), label=some[0].name)
    some = found.ways["individual_ranking (even)"]
    ks = [one.asked[0] for one in some]
    least = min(some, key=lambda one: one.loss)
    lines = (("the sum", "-", [one.loss for one in some]),
             ("microaggregation", "--", [one.loss - one.noise for one in some]),
             ("noise", ":", [one.noise for one in some]))  # fmt: skip
    for name, style, values in lines:
        colour = SIX[1] if name == "the sum" else theme.ink
        right.plot(ks, values, color=colour, linestyle=style, linewidth=2.2 if name == "the sum" else 1.5, label=name)
    for axes in (left, right):
        ring = {"s": 150, "facecolor": "none", "edgecolor": theme.accent, "linewidth": 2, "zorder": 4}
        axes.scatter(least.asked[0], least.loss, **ring)
        _axes(axes, theme, "k")
        axes.set(xscale="log", yscale="log", ylim=(1, 700_000))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.grid(color=theme.edge, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(which="minor", length=0)
        axes.legend(frameon=False, labelcolor=theme.ink, fontsize=9, loc="upper right")
    right.annotate(f"k = {least.asked[0]}: {least.loss:.1f} %", (least.asked[0], least.loss), (3, 26),
                   textcoords="offset points", ha="center", color=theme.accent, fontsize=9.5)  # fmt: skip
    left.set_ylabel("expected IL in %", color=theme.faint)
    _title(left, theme, "Noise against loss", "synthetic survey, 2 attributes, ε = 1")
    _title(
        right, theme, "One of them, part by part", "individual_ranking (even): least where both parts are about equal"
    )
    return figure


def steered_buckets(theme: Theme) -> Figure:
    """Draw records of four buckets of confidential values, in classes with less and with more steering."""
    rng = np.random.default_rng(9)
    X = rng.uniform(size=(36, 2)) * [1.6, 1.0]
    confidential = X[:, 0] + 0.6 * rng.normal(size=36)  # goes with the first attribute, somewhat
    bucket = np.argsort(np.argsort(confidential)) // 9
    figure = _card(theme, 10.4, 3.6)
    row = figure.subplots(1, 3, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.025, right=0.975, bottom=0.055, top=0.8, wspace=0.06)
    for axes, weight in zip(row, (0.0, 2.0, None), strict=True):
        part = shoal.microaggregate(X, 4, method="steered", confidential=confidential, t=0.13, weight=weight)
        far = _largest_emd(confidential, part.labels)
        for label in range(len(part)):
            members = X[part.labels == label]
            for member in members:
                axes.plot(*zip(member, members.mean(axis=0), strict=True), color=theme.water, linewidth=1.1, zorder=2)
        for number in range(4):
            axes.scatter(*X[bucket == number].T, s=34, color=SIX[number], linewidth=0, zorder=3)
        name = "The weight that guarantees" if weight is None else f"Weight {weight:g}"
        promise = "at most t = 0.13" if weight is None else "t is not promised"
        _title(axes, theme, name, f"largest EMD {far:.2f}, {promise}; IL {_loss(X, part.labels):.0f} %", size=9.8)
        _empty(axes, theme)
    return figure


def steer_regions(theme: Theme) -> Figure:
    """Draw the loss against the weight of the region, and how many classes still cross regions."""
    survey = shoal.survey()
    region = np.unique(survey["region"].to_numpy(zero_copy_only=False), return_inverse=True)[1]
    recipe: dict[str, Any] = {"quasi": ["birth", "income", "commute_minutes"], "k": 5}
    weights = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.5, 2, 2.5, 3, 4)
    crossing, losses = [], []
    for weight in weights:
        steer = [{"by": "region", "column": "region", "weight": weight}]
        done = shoal.protect(survey, {**recipe, "steer": steer})
        labels, classes = done.partition.labels, len(done.partition)
        held = np.bincount(np.unique(labels * 5 + region) // 5, minlength=classes)  # regions of each class
        crossing.append(100 * float((held > 1).mean()))
        losses.append(done.readings["il_sse"])
    strata = shoal.protect(survey, {**recipe, "strata": ["region"]}).readings["il_sse"]
    figure = _card(theme, 10.4, 3.7)
    left, right = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.075, right=0.97, bottom=0.16, top=0.82, wspace=0.2)
    for axes, values, colour in ((left, crossing, SIX[0]), (right, losses, SIX[1])):
        axes.plot(weights, values, color=colour, linewidth=2.2, marker="o", markersize=5, markeredgecolor=theme.paper)
        _axes(axes, theme, "weight of the region")
        axes.set_xlim(-0.06, 4.1)
        axes.set_ylim(0, 1.12 * max(*values, strata))
        axes.grid(axis="y", color=theme.edge, linewidth=0.8)
        axes.set_axisbelow(True)
    right.axhline(strata, color=theme.accent, linewidth=1, linestyle="--")
    right.annotate("strata", (4.0, strata), (0, 5), textcoords="offset points", color=theme.accent, ha="right")
    _title(left, theme, "Classes that cross regions", "in % of 1,000 classes of the synthetic survey, k = 5")
    _title(right, theme, "Cost", "IL in %, real attributes only")
    return figure


def p_sensitive_values(theme: Theme) -> Figure:
    """Draw records by confidential value: classes of MDAV, and of p_sensitive with p values in each."""
    X, secret = _grouped(84)
    parts = (
        ("MDAV", shoal.microaggregate(X, 4)),
        ("p_sensitive", shoal.microaggregate(X, 4, method="p_sensitive", confidential=secret, p=3)),
    )
    return _valued_panels(theme, X, secret, parts, lambda inside: len(set(inside)) < 3, "with fewer than 3 values")


def kpqr_rare(theme: Theme) -> Figure:
    """Draw records by confidential value, most of them equal: p values in all classes or in some."""
    X, secret = _grouped(84)
    secret = np.where(np.random.default_rng(3).random(len(secret)) < 0.8, 2, secret)
    given = {"confidential": secret, "p": 3}
    parts = (
        ("p_sensitive", shoal.microaggregate(X, 4, method="p_sensitive", **given)),
        ("kpqr", shoal.microaggregate(X, 4, method="kpqr", q=0.2, r=0.3, **given)),
    )
    return _valued_panels(theme, X, secret, parts, lambda inside: set(inside) == {2}, "without a rare value")


def look_ahead_crowd(theme: Theme) -> Figure:
    """Draw the pending tuples at one moment, and the class of the expiring one."""
    rng = np.random.default_rng(3)
    loners = [
        (0.43, 0.53),
        (0.37, 0.38),
        (0.24, 0.7),
        (0.31, 0.62),
        (0.08, 0.25),
        (0.12, 0.82),
        (0.9, 0.14),
        (0.93, 0.9),
    ]
    X = np.concatenate(([[0.5, 0.45], *loners], rng.normal((0.68, 0.5), (0.055, 0.1), (30, 2))))
    k, n = 4, len(X)
    figure = _card(theme, 10.4, 3.9)
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.025, right=0.975, bottom=0.05, top=0.82, wspace=0.06)
    words = (
        ("nearest", "Nearest", "the k − 1 nearest, one of them in the crowd"),
        ("look_ahead", "Looking ahead", "an isolated tuple instead, which would lose more elsewhere"),
    )
    for panel, (method, head, line) in zip(axes, words, strict=True):
        labels = _stream_labels(method, X, k, n - 1, flush=False)
        inside = labels == 0
        panel.add_patch(_hull(X[inside], SIX[0], theme))
        panel.scatter(*X[~inside].T, s=26, color=theme.faint, edgecolor=theme.paper, linewidth=0.6, zorder=3)
        panel.scatter(*X[inside].T, s=34, color=SIX[0], edgecolor=theme.paper, linewidth=0.6, zorder=4)
        panel.scatter(*X[0], s=120, facecolor="none", edgecolor=theme.accent, linewidth=1.6, zorder=5)
        _title(panel, theme, head, f"k = {k}: {line}")
        _empty(panel, theme)
    return figure


def stream_methods_loss(theme: Theme) -> Figure:
    """Draw the loss of stream methods against the maximum delay, on two streams."""
    rng = np.random.default_rng(1)
    centres = rng.random((30, 3))
    streams = (
        ("Clustered", np.clip(centres[rng.integers(0, 30, 3000)] + rng.normal(0, 0.03, (3000, 3)), 0, 1)),
        ("Uniform", rng.random((3000, 2))),
    )
    delays, k = (20, 30, 50, 80, 120, 200, 300, 500), 5
    figure = _card(theme, 10.4, 3.9)
    axes = figure.subplots(1, 2)
    figure.subplots_adjust(left=0.085, right=0.975, bottom=0.15, top=0.82, wspace=0.2)
    for panel, (name, X) in zip(axes, streams, strict=True):
        for method, colour, mark in (("castle", SIX[1], "s"), ("nearest", SIX[0], "o"), ("look_ahead", SIX[2], "D")):
            lost = [1000 * _stream_loss(X, _stream_labels(method, X, k, delay)) / len(X) for delay in delays]
            panel.plot(delays, lost, color=colour, marker=mark, markersize=4.5, linewidth=1.6, label=method)
        _title(panel, theme, name, f"3,000 tuples, {X.shape[1]} attributes, k = {k}")
        _axes(panel, theme, "largest delay δ")
        panel.set_xscale("log")
        panel.set_xticks((20, 50, 100, 200, 500), ("20", "50", "100", "200", "500"))
        panel.minorticks_off()
        panel.set_ylim(0)
    axes[0].set_ylabel("mean squared error, ‰", color=theme.faint)
    axes[1].legend(frameon=False, labelcolor=theme.ink, fontsize=9.5)
    return figure


def _stream_labels(method: str, X: Array, k: int, delay: int, *, flush: bool = True) -> NDArray[np.int64]:
    """Return the classes of a stream; with `flush`, also those of the tuples pending at the end."""
    from shoal import registry
    from shoal.types.stream import Space, Waiting

    n, d = X.shape
    forming = registry.load("stream.partition", method)().begin(Space(("x",) * d, float(d)), k, delay, 0.0)
    rows = np.arange(n)
    found = forming.advance(Waiting(X, rows, rows, np.empty((n, 0), np.int64), old=0), n + 1 if flush else 0).labels
    return np.where(found < 0, found.max(), found) if flush else found  # remaining tuples join the last class


def _stream_loss(X: Array, labels: NDArray[np.int64]) -> float:
    return float(sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in range(labels.max() + 1)))


FIGURES = (
    shoals,
    mdav_steps,
    v_mdav_clumps,
    optimal_univariate_cut,
    individual_ranking_cells,
    least_error_sizes,
    pcp_axis,
    zscores_sum,
    mic1d_values,
    tour_path,
    blocks_seams,
    anneal_cooling,
    t_first_subsets,
    t_close_merge_far,
    k_first_exchanged,
    p_sensitive_values,
    kpqr_rare,
    insensitive_strips,
    loss_by_k,
    explore_frontier,
    explore_noise,
    steered_buckets,
    steer_regions,
    look_ahead_crowd,
    stream_methods_loss,
)


# --- what they share


def _means(values: Array, labels: NDArray[np.int64]) -> Array:
    return (np.bincount(labels, values) / np.bincount(labels))[labels]


def _largest_emd(values: Array, labels: NDArray[np.int64]) -> float:
    """Return the largest distance of a class from the table, for values that all differ."""
    rank = np.argsort(np.argsort(values))
    n = len(rank)
    there = np.arange(1, n + 1) / n
    members = [np.sort(rank[labels == label]) for label in range(labels.max() + 1)]
    shares = [np.searchsorted(inside, np.arange(n), "right") / len(inside) for inside in members]
    return max(float(np.abs(share - there).sum() / (n - 1)) for share in shares)


def _classes(axes: Axes, theme: Theme, points: Array, part: shoal.Partition, name: str) -> None:
    """Draw the classes of a partition of points in a panel."""
    for label, colour in enumerate(_coloured(points, part.labels)):
        members = points[part.labels == label]
        axes.add_patch(_hull(members, colour, theme))
        axes.scatter(*members.T, s=22, color=colour, linewidth=0, zorder=3)
    loss = _loss(points, part.labels)
    _title(axes, theme, name, f"classes of {part.sizes.min()} to {part.sizes.max()}, IL {loss:.1f} %")
    _empty(axes, theme)


def _correlated(n: int, scatter: float) -> tuple[Array, Array]:
    """Return points, and a confidential value for each that rises from left to right, with some scatter."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(n, 2)) * np.array([1.5, 1.0])
    return X, X[:, 0] + scatter * rng.normal(size=n)


def _close_panels(
    theme: Theme, points: Array, secret: Array, t: float, shown: tuple[tuple[str, shoal.Partition], ...]
) -> Figure:
    """Draw partitions side by side: records by confidential value, classes farther than t from the table in red."""
    from shoal.flow.stages.encode import confidential_arrays
    from shoal.kernels.closeness.earth_mover import closeness, distances

    near = closeness(confidential_arrays(secret, len(points)), t)
    figure = _card(theme, 10.4, 4.1)
    panels = figure.subplots(1, len(shown), sharex=True, sharey=True)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.05, top=0.835, wspace=0.06)
    for axes, (name, part) in zip(panels, shown, strict=True):
        far, close = (found[0] for found in distances(near, part.labels))
        for label in range(len(part)):
            corners = _outline(points[part.labels == label])
            colour = theme.water if close[label] else theme.accent
            axes.add_patch(Polygon(corners, facecolor=colour, alpha=theme.depth * 0.8, edgecolor="none", zorder=1))
            axes.add_patch(Polygon(corners, facecolor="none", edgecolor=colour, linewidth=0.9, alpha=0.75, zorder=2))
        axes.scatter(*points.T, s=24, c=secret, cmap="viridis", edgecolor=theme.paper, linewidth=0.4, zorder=3)
        least, most = part.sizes.min(), part.sizes.max()
        sizes = f"{len(part)} classes of {least}" + (f" to {most}" if most > least else "")
        _title(axes, theme, name, f"{sizes}, largest EMD {far.max():.2f}, IL {_loss(points, part.labels):.0f} %")
        _empty(axes, theme)
    return figure


def _grouped(n: int) -> tuple[Array, NDArray[np.int64]]:
    """Return points, and one of five confidential values for each, which differ from left to right."""
    rng = np.random.default_rng(21)
    X = rng.normal(size=(n, 2)) * np.array([1.5, 1.0])
    return X, np.clip(np.rint(1.1 * X[:, 0] / 1.5 + 2 + 0.6 * rng.normal(size=n)), 0, 4).astype(np.int64)


def _valued_panels(
    theme: Theme,
    points: Array,
    secret: NDArray[np.int64],
    shown: tuple[tuple[str, shoal.Partition], ...],
    marked: Callable[[list[int]], bool],
    words: str,
) -> Figure:
    """Draw partitions side by side: records by confidential value, classes marked that `words` are true of."""
    figure = _card(theme, 10.4, 4.1)
    panels = figure.subplots(1, len(shown), sharex=True, sharey=True)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.05, top=0.835, wspace=0.06)
    for axes, (name, part) in zip(panels, shown, strict=True):
        found = [marked(secret[part.labels == label].tolist()) for label in range(len(part))]
        for label, mark in enumerate(found):
            corners, colour = _outline(points[part.labels == label]), theme.accent if mark else theme.water
            axes.add_patch(Polygon(corners, facecolor=colour, alpha=theme.depth * 0.8, edgecolor="none", zorder=1))
            axes.add_patch(Polygon(corners, facecolor="none", edgecolor=colour, linewidth=0.9, alpha=0.75, zorder=2))
        colours = np.array(SIX)[secret]
        axes.scatter(*points.T, s=26, color=colours, edgecolor=theme.paper, linewidth=0.4, zorder=3)
        least, most = part.sizes.min(), part.sizes.max()
        sizes = f"{len(part)} classes of {least}" + (f" to {most}" if most > least else "")
        number, loss = sum(found) or "none", _loss(points, part.labels)
        _title(axes, theme, name, f"{sizes}, {number} {words}; IL {loss:.0f} %")
        _empty(axes, theme)
    return figure


def _people(n: int) -> pa.Table:
    """Return some people of the synthetic survey, with their age in years."""
    survey = shoal.survey(n, seed=4)
    days = np.datetime64("2025-06-30") - survey["birth"].to_numpy().astype("datetime64[D]")
    return pa.table({"age": days.astype(float) / 365.25, "income": survey["income"]})


def _xy(table: pa.Table) -> Array:
    return np.column_stack([table["age"].to_numpy(), table["income"].to_numpy()])


def _farthest(points: Array, place: Array) -> int:
    return int(np.argmax(((points - place) ** 2).sum(axis=1)))


def _loss(points: Array, labels: NDArray[np.int64]) -> float:
    """Return the information loss of a partition of points, in percent."""
    means = np.array([points[labels == label].mean(axis=0) for label in range(labels.max() + 1)])
    return float(100 * ((points - means[labels]) ** 2).sum() / ((points - points.mean(axis=0)) ** 2).sum())


def _coloured(points: Array, labels: NDArray[np.int64]) -> list[str]:
    """Return a colour for each class, such that near classes differ."""
    spread = (points - points.mean(axis=0)) / points.std(axis=0)
    centres = np.array([spread[labels == label].mean(axis=0) for label in range(labels.max() + 1)])
    chosen: list[int] = []
    for label, centre in enumerate(centres):
        near = np.argsort(((centres[:label] - centre) ** 2).sum(axis=1))
        ages = {chosen[other]: rank for rank, other in reversed(list(enumerate(near)))}
        chosen.append(max(range(len(SIX)), key=lambda colour: (ages.get(colour, len(near)), -colour)))
    return [SIX[colour] for colour in chosen]


def _hull(points: Array, colour: str, theme: Theme) -> Polygon:
    return Polygon(_outline(points), facecolor=colour, alpha=theme.depth, edgecolor="none", zorder=1)


def _outline(points: Array) -> Array:
    """Return the corners of the convex hull, counterclockwise (monotone chain)."""
    order = [tuple(point) for point in points[np.lexsort((points[:, 1], points[:, 0]))]]

    def chain(path: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        kept: list[tuple[Any, ...]] = []
        for p in path:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    return np.array(chain(order) + chain(order[::-1]))


def _turn(a: tuple[Any, ...], b: tuple[Any, ...], c: tuple[Any, ...]) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _card(theme: Theme, width: float, height: float) -> Figure:
    """Return an empty figure on a card with round corners, which stands on any background."""
    figure = plt.figure(figsize=(width, height))
    inset = 0.02
    card = FancyBboxPatch(
        (inset, inset),
        width - 2 * inset,
        height - 2 * inset,
        boxstyle="round,pad=0,rounding_size=0.14",
        transform=figure.dpi_scale_trans,
        facecolor=theme.paper,
        edgecolor=theme.edge,
        linewidth=1,
        zorder=-10,
    )
    figure.add_artist(card)
    return figure


def _title(axes: Axes, theme: Theme, head: str, line: str, size: float = 12.5) -> None:
    axes.annotate(
        head,
        (0, 1),
        (1, 23),
        xycoords="axes fraction",
        textcoords="offset points",
        color=theme.ink,
        fontsize=size,
        fontweight="bold",
    )
    axes.annotate(
        line,
        (0, 1),
        (1, 9),
        xycoords="axes fraction",
        textcoords="offset points",
        color=theme.faint,
        fontsize=size * 0.77 if size > 10 else 8.8,
    )


def _axes(axes: Axes, theme: Theme, label: str) -> None:
    axes.set_xlabel(label, color=theme.faint)
    axes.tick_params(colors=theme.faint, labelsize=9, length=3)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(theme.edge)


def _empty(axes: Axes, theme: Theme) -> None:
    """Leave only the frame of a panel."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_color(theme.edge)


def _arrow(axes: Axes, theme: Theme, start: Array, end: Array, near: str, far: str) -> None:
    """Draw an arrow between two marked places with their names."""
    axes.annotate(
        "",
        end,
        start,
        arrowprops={"arrowstyle": "-|>", "color": theme.accent, "shrinkA": 3, "shrinkB": 4},
        zorder=5,
    )
    for place, name, away in ((start, near, start - end), (end, far, end - start)):
        axes.scatter(*place, s=34, facecolor="none", edgecolor=theme.accent, linewidth=1.4, zorder=6)
        shift = 11 * away / np.hypot(*away)
        axes.annotate(
            name,
            place,
            tuple(shift),
            textcoords="offset points",
            color=theme.accent,
            fontsize=9.5,
            fontweight="bold",
            ha="center" if abs(shift[1]) > abs(shift[0]) else "left" if shift[0] > 0 else "right",
            va="center",
            zorder=7,
            path_effects=[withStroke(linewidth=3, foreground=theme.paper)],
        )


if __name__ == "__main__":
    main()
