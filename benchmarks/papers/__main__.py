"""The printed figures of the papers next to ours: ``python benchmarks/papers [--full] [paper …]``, with SHOAL_DATA set.

Progress goes to standard error. ``--full`` takes all seeds of the page of [DSS08], instead of a few, and computes the
column of [SC15] Figure 6 that takes minutes.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
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
    names = [word for word in sys.argv[1:] if word != "--full"] or list(PAPERS)
    if unknown := [name for name in names if name not in PAPERS]:
        sys.exit(f"no paper is called {unknown[0]!r}; there are {', '.join(PAPERS)}")
    began = time.monotonic()
    modules = [module for name in names for module in PAPERS[name]]
    for i, module in enumerate(modules, 1):
        print(f"[{i}/{len(modules)}] {module}, after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        importlib.import_module(module).main(Path(folder))


if __name__ == "__main__":
    main()
