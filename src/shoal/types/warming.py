"""Compile times: what each feature takes to compile, and where its kernels are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Warmed:
    """The compiled kernels of one feature.

    Attributes
    ----------
    feature
        What was run, such as ``method mdav``.
    kernels
        Number of kernels that it needs.
    seconds
        CPU seconds to compile all of them, which the first use takes without a cache; None: some were compiled before.
    refusal
        Why it was not run; empty if it was.
    """

    feature: str
    kernels: int
    seconds: float | None
    refusal: str = ""


@dataclass(frozen=True)
class Warming:
    """All features, the folder with their kernels, and how long compiling took."""

    folder: Path
    features: tuple[Warmed, ...]
    kernels: int  #: in the folder
    seconds: float  #: CPU seconds of all compilations

    def to_dict(self) -> dict[str, Any]:
        """Return the times as plain values."""
        return {
            "folder": str(self.folder),
            "kernels": self.kernels,
            "seconds": round(self.seconds, 2),
            "features": [asdict(one) for one in self.features],
        }
