"""Compilation of all kernels into a folder, and the time that each feature takes to compile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import EngineError, ParameterError
from shoal.flow.warm.features import features
from shoal.kernels.runtime.cache_folder import GENERIC, VARIABLE, base_folder, mark, refuse_shared
from shoal.progress import report, stage
from shoal.threads import VARIABLE as THREADS
from shoal.types.warming import Warmed, Warming


def warm_kernels(cache: Path | None, cpu: str | None, only: Sequence[str]) -> Warming:
    """Compile the kernels of all features, or of some."""
    known = features()
    for name in only:
        if name not in known:
            raise ParameterError(
                f"warm: no feature is called {name!r}. Name components by their family, for example 'method mdav', "
                "'effort fast', 'release medoid' or 'stream castle'."
            )
    if cpu not in (None, GENERIC):
        raise ParameterError(f"warm: cpu must be {GENERIC}, got {cpu!r}. Leave it out to compile for this processor.")
    environment = {**os.environ, THREADS: "2"}  # kernels for several threads are compiled as well
    if cache is not None:
        refuse_shared("--cache", cache)
        environment[VARIABLE] = str(cache.absolute())
    folder = base_folder(environment)
    mark(folder, cpu)
    return _summed(folder, list(_answers([name for name in known if not only or name in only], environment)))


def _answers(names: Sequence[str], environment: dict[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run each feature in a separate process, and yield it with its answer."""
    stage("Compile")
    worker: subprocess.Popen[str] | None = None
    try:
        for at, name in enumerate(names):
            report(at, len(names))
            if worker is None or worker.poll() is not None:
                worker = subprocess.Popen(
                    [sys.executable, "-m", "shoal.flow.warm.worker"],
                    env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
                )  # fmt: skip
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write(f"{name}\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
            if not line:
                raise EngineError(
                    f"warm: the process that compiles ended at {name!r}. Start it again; what is compiled is kept."
                )
            yield name, json.loads(line)
        report(len(names), len(names))
    finally:
        if worker is not None:
            worker.kill()
            worker.communicate()


def _summed(folder: Path, answers: Sequence[tuple[str, dict[str, Any]]]) -> Warming:
    """Add up the compile times of the kernels that each feature needs, wherever they were compiled."""
    taken: dict[str, float] = {}
    for _, answer in answers:
        for kernel, seconds in answer["kernels"].items():
            taken[kernel] = max(seconds, taken.get(kernel, 0.0))
    found = []
    for name, answer in answers:
        own = [taken[kernel] for kernel in answer["kernels"]]
        found.append(Warmed(name, len(own), round(sum(own), 2) if all(own) else None, answer["refusal"]))
    return Warming(folder, tuple(found), len(taken), sum(taken.values()))
