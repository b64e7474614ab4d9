"""How many seeds a run of the papers takes: few, or with ``--full`` as many as the pages of the papers show."""

import sys


def seeds(full: int, few: int) -> int:
    """The number of seeds of this run."""
    return full if "--full" in sys.argv else few
