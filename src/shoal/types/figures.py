"""Figures of explorations and classes: the frontier, noise against loss, what a model keeps, class sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from shoal.display.figure import (
    ACCENT,
    EDGE,
    FAINT,
    INK,
    PAPER,
    SHAPES,
    SIX,
    dressed,
    new_figure,
    sizes_figure,
    titled,
)
from shoal.display.words import counted
from shoal.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shoal.types.explored import Explored, Setting
    from shoal.types.partition import Partition
    from shoal.types.release import Audit

_CROWDED = 6.0  # times the median: the largest value allowed on a linear axis


def partition_figure(partition: Partition) -> Figure:
    """Draw the sizes of the classes of a partition."""
    import numpy as np

    sizes = np.unique(partition.sizes, return_counts=True)
    pairs = list(zip(*(part.tolist() for part in sizes), strict=True))
    if not pairs:
        raise ParameterError("plot: there must be at least one class, got none. Partition at least k records.")
    return sizes_figure(pairs, f"{counted(len(partition), 'class', 'classes')}, at least {pairs[0][0]:,} records each")


def audit_figure(audit: Audit) -> Figure:
    """Draw the sizes of the audited classes, over all quasi-identifiers."""
    sizes, k = audit.overall.sizes, audit.overall.achieved
    if not sizes:
        raise ParameterError(
            "plot: the class sizes must be known, which this audit does not count. Plot the partition instead."
        )
    line = f"{counted(audit.records, 'record')} in {counted(audit.overall.classes, 'class', 'classes')}; k = {k:,g}"
    return sizes_figure(sizes, line)


def explored_figure(found: Explored) -> Figure:
    """Draw an exploration: loss against risk; the expected loss by k, where noise is weighed; or a model's scores."""
    if not any(one.state == "ran" for one in found.settings):
        raise ParameterError("plot: at least one setting must have run, got none. Raise seconds.")
    if found.target:
        return _target_figure(found)
    return _frontier_figure(found) if found.epsilon is None else _noise_figure(found)


def _frontier_figure(found: Explored) -> Figure:
    shown = [s for s in found.settings if s.state == "ran" and not math.isnan(s.loss) and not math.isnan(s.risk)]
    figure = new_figure(7.4, 4.4)
    axes = figure.subplots()
    for name, some in (found.frontiers or {"": found.frontier}).items():
        places = [[one.loss for one in some], [one.risk for one in some]]
        said = {"algorithm": "withstands someone who knows the algorithm", "table": "all settings"}.get(name)
        axes.plot(
            *places, color=FAINT, linewidth=1.1, linestyle="-" if name == "algorithm" else (0, (4, 3)), label=said
        )
    for at, method in enumerate(found.ways):
        _points(axes, at, method, [one for one in shown if one.method == method])
    for one in {one.asked[0]: one for one in reversed(found.frontier)}.values():  # the first of each k
        _beside(axes, f"k = {one.asked[0]}", (one.loss, one.risk), (-7, -9), FAINT, ha="right")
    _ringed(axes, found.recommended, max(one.loss for one in shown))
    _spread(axes, [one.loss for one in shown], [one.risk for one in shown])
    titled(axes, "Loss against risk", f"{found.ran}; down and left is better")
    dressed(axes, f"loss: {found.loss} in %", f"risk: {found.risk} in %")
    _legend(figure)
    return figure


def _points(axes: Axes, kind: int, method: str, some: Sequence[Setting]) -> None:
    """Draw the settings of a method: weaker ones than the recipe grey, those that promise less hollow."""
    style: dict[str, Any] = {"marker": SHAPES[(kind + kind // 6) % 6], "s": 42, "linewidth": 0.7}
    kept = [one for one in some if one.meets and one.keeps]
    groups: tuple[tuple[list[Setting], dict[str, Any]], ...] = (
        (kept, {"color": SIX[kind % 6], "edgecolor": PAPER, "zorder": 3}),
        ([one for one in some if one.meets and not one.keeps], {"facecolor": "none", "edgecolor": FAINT, "zorder": 2}),
        ([one for one in some if not one.meets], {"color": EDGE, "edgecolor": PAPER, "zorder": 2}),
    )
    for group, paint in groups:
        if group:
            label = method if group is kept or not kept else None
            axes.scatter([s.loss for s in group], [s.risk for s in group], label=label, **style, **paint)


def _ringed(axes: Axes, best: Setting | None, most: float) -> None:
    if best is not None:
        axes.scatter(best.loss, best.risk, s=190, facecolor="none", edgecolor=ACCENT, linewidth=2, zorder=4)
        left = best.loss < most / 2
        where = {"ha": "left" if left else "right"}
        place = (best.loss, best.risk)
        _beside(axes, f"recommended: {best.name}", place, (10 if left else -2, 12), ACCENT, **where)


def _beside(
    axes: Axes, text: str, place: tuple[float, float], shift: tuple[float, float], colour: str, **more: Any
) -> None:
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=3, foreground=PAPER)]
    axes.annotate(text, place, shift, textcoords="offset points", color=colour, fontsize=9, path_effects=halo, **more)


def _spread(axes: Axes, losses: Sequence[float], risks: Sequence[float]) -> None:
    """Begin both axes at 0, and bend one by square roots if most values would crowd in a corner."""
    for values, scale, limit in ((losses, axes.set_xscale, axes.set_xlim), (risks, axes.set_yscale, axes.set_ylim)):
        top = max(values, default=0.0)
        if top > _CROWDED * max(median(values), 1e-9):
            scale("function", functions=(_root, _square))
        limit(0, top * 1.08 or 1.0)


def _root(x: Any) -> Any:
    import numpy as np

    return np.sqrt(np.maximum(x, 0.0))


def _square(x: Any) -> Any:
    import numpy as np

    return np.square(x)


def _noise_figure(found: Explored) -> Figure:
    figure = new_figure(7.4, 4.4)
    axes = figure.subplots()
    for at, (way, some) in enumerate(found.ways.items()):
        known = [one for one in some if math.isfinite(one.loss)]
        colour = SIX[at % 6]
        if known and known[0].sized:
            ks, losses = [one.asked[0] for one in known], [one.loss for one in known]
            style: dict[str, Any] = {"marker": SHAPES[(at + at // 6) % 6], "markersize": 5, "linewidth": 1.6}
            axes.plot(ks, losses, color=colour, label=way, markeredgecolor=PAPER, **style)
        elif known:
            axes.axhline(
                known[0].loss, color=colour, linewidth=1.4, linestyle=(0, (7, 3, 2, 3)), label=f"{way}, sizes vary"
            )
    best = found.recommended
    if best is not None and best.sized:
        ring: dict[str, Any] = {"facecolor": "none", "edgecolor": ACCENT, "linewidth": 2, "zorder": 4}
        axes.scatter(best.asked[0], best.loss, s=150, **ring)
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,g}")
    chosen = "" if best is None else f"; least: {best.name}"
    titled(axes, "Noise against loss", f"ε = {found.epsilon:g}{chosen}")
    dressed(axes, "k", f"expected {found.loss} in %")
    _legend(figure)
    return figure


def _target_figure(found: Explored) -> Figure:
    some = [one for ranked in found.guarantees.values() for one in ranked]
    figure = new_figure(7.4, 1.9 + 0.3 * len(some))
    axes = figure.subplots()
    row = 0
    for at, (guarantee, ranked) in enumerate(found.guarantees.items()):
        rows = range(row, row + len(ranked))
        scores = [one.readings["boosting"] for one in ranked]
        axes.scatter(
            scores, rows, s=42, color=SIX[at % 6], marker=SHAPES[(at + at // 6) % 6], label=guarantee, zorder=3
        )
        row += len(ranked)
    if found.recommended in some:
        place = (found.recommended.readings["boosting"], some.index(found.recommended))
        axes.scatter(*place, s=150, facecolor="none", edgecolor=ACCENT, linewidth=2, zorder=4)
    axes.axvline(found.originals["boosting"], color=FAINT, linewidth=1.1, linestyle=(0, (4, 3)))
    axes.set_yticks(range(len(some)), [one.name for one in some])
    axes.invert_yaxis()
    titled(axes, "What a model keeps", "dashed: trained on the originals; ring: recommended")
    dressed(axes, f"{found.score} of gradient boosting", grid="x")
    _legend(figure, 1)
    return figure


def _legend(figure: Figure, across: int = 3) -> None:
    figure.legend(frameon=False, labelcolor=INK, fontsize=9, loc="outside lower left", ncols=across)
