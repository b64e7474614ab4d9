"""Process that runs features one by one, and tells which kernels each compiled or loaded.

It reads names of features, one per line, and answers each with a line of JSON. Each feature starts without any kernel
in memory: in a process of its own, split off after all imports. Where that is impossible, the process ends after one.
"""

from __future__ import annotations

import json
import os
import sys

from shoal.errors import ShoalError
from shoal.flow.warm.features import features
from shoal.kernels.runtime.compile_times import compile_times

FORKS = hasattr(os, "fork")


def main() -> None:
    """Answer all lines of standard input."""
    known = features()
    for line in sys.stdin:
        name = line.strip()
        if FORKS and (child := os.fork()):
            os.waitpid(child, 0)
            continue
        refusal = ""
        with compile_times() as found:
            try:
                known[name]()
            except ShoalError as error:
                refusal = str(error)
            except Exception as error:  # of a package that plugs in; the others are compiled nevertheless
                refusal = f"failed ({type(error).__name__})"
        sys.stdout.write(json.dumps({"kernels": found, "refusal": refusal}) + "\n")
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
