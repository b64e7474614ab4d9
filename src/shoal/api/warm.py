"""Compilation of all kernels in advance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.types.warming import Warming


def warm(cache: str | Path | None = None, *, cpu: str | None = None, only: Sequence[str] = ()) -> Warming:
    """Compile all kernels, so that no later run has to; for container images and clusters.

    Parameters
    ----------
    cache
        Folder for the compiled kernels, created if it does not exist; processes use it if ``SHOAL_CACHE`` names it.
        None: the folder that this installation uses anyway.
    cpu
        ``generic`` compiles for any processor of the architecture; None: for this machine's.
    only
        Features to compile, such as ``method mdav``; empty: all.

    Returns
    -------
    Warming
        ``features``, each with the CPU seconds that its kernels take to compile; ``folder``, ``kernels``, ``seconds``.
    """
    from shoal.flow.warm.warm import warm_kernels

    return warm_kernels(None if cache is None else Path(cache), cpu, only)
