"""Attacks on a release, one file each.

Python sets the name of an imported package in the package above; ``shoal.attack`` must stay the function.
"""

from __future__ import annotations

import sys
from types import ModuleType


class _Shoal(ModuleType):
    """The module ``shoal``, in which no package takes the name ``attack``."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "attack" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules["shoal"].__class__ = _Shoal
