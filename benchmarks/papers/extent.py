"""How much a run of the papers takes: little, or with ``--full`` all that the pages of the papers show."""

import sys


def full() -> bool:
    """Whether this run computes everything on the pages."""
    return "--full" in sys.argv


def seeds(many: int, few: int) -> int:
    """The number of seeds of this run."""
    return many if full() else few
