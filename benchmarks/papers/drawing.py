"""What figures of papers share: the look of the documentation's own, once for light and once for dark pages."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

HOME = Path(__file__).parents[2]


def draw(name: str, width: float, height: float, fill: Callable[[Any, Any, ModuleType], None]) -> None:
    """Draw a figure into ``docs/images`` where matplotlib is installed; `fill(figure, theme, look)` puts panels in."""
    try:
        look = _look()
    except ModuleNotFoundError:
        print(f"matplotlib is not installed: {name} is not drawn.")
        return
    for theme in look.THEMES:
        figure = look._card(theme, width, height)
        fill(figure, theme, look)
        figure.savefig(
            HOME / "docs" / "images" / f"{name}-{theme.name}.png",
            dpi=160,
            transparent=True,
            metadata={"Software": None},
        )
        look.plt.close(figure)


@cache
def _look() -> ModuleType:
    """The file that draws the figures of the documentation."""
    spec = importlib.util.spec_from_file_location("docs_figures", HOME / "docs" / "figures.py")
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("docs/figures.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
