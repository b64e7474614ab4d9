"""The printed figures of the papers next to ours: ``python benchmarks/papers [paper …]``, with SHOAL_DATA set."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

PAPERS = {
    "n14": ("n14", "n14_page"),
    "ds17": ("ds17",),
    "sc15": ("sc15",),
    "dss08": ("dss08",),
    "sd17": ("sd17",),
}  #: the modules of each


def main() -> None:
    """Run the papers that are named, or all."""
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        sys.exit("SHOAL_DATA must name the folder of the reference data (CASC, UCI).")
    for name in sys.argv[1:] or PAPERS:
        if name not in PAPERS:
            sys.exit(f"no paper is called {name!r}; there are {', '.join(PAPERS)}")
        for module in PAPERS[name]:
            importlib.import_module(module).main(Path(folder))


if __name__ == "__main__":
    main()
