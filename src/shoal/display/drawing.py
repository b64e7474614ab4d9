"""Drawing: a matplotlib figure that a notebook shows by itself; importing it needs matplotlib."""

from __future__ import annotations

from io import BytesIO

from matplotlib.figure import Figure


class Drawing(Figure):
    """A figure that pyplot does not know, so that a notebook shows it once and no memory is held."""

    def _repr_png_(self) -> bytes:
        held = BytesIO()
        self.savefig(held, format="png", dpi=120, metadata={"Software": None})
        return held.getvalue()
