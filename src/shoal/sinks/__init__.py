"""Where releases go: one file per format, chosen by the end of a file's name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError


def sink_for(path: Path) -> type[Any]:
    """Return the class that writes files named like this one.

    A new format is one new file in this folder, with a class that lists its ``suffixes``; files whose name
    begins with an underscore are no formats.

    Raises
    ------
    ParameterError
        If no sink writes such a file.

    >>> sink_for(Path("people.parquet")).__name__
    'Parquet'
    """
    known = {suffix: sink for sink in _sinks() for suffix in sink.suffixes}
    fitting = [suffix for suffix in known if path.name.lower().endswith(suffix)]
    if not fitting:
        raise ParameterError(
            f"{path.name}: the name must end in {', '.join(sorted(known))}, "
            f"got {path.suffix or 'no suffix'}. Choose another name for the output."
        )
    return known[max(fitting, key=len)]


def _sinks() -> Iterator[type[Any]]:
    """Give the class of every module of this package that writes files."""
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"{__name__}.{module.name}")
            sink = getattr(loaded, module.name.title().replace("_", ""), None)
            if sink is not None and hasattr(sink, "suffixes"):
                yield sink
