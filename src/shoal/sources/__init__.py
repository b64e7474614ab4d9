"""Where tables come from: one file per format, chosen by the end of a file's name."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError


def source_for(path: Path) -> type[Any]:
    """Return the class that reads files named like this one.

    A new format is one new file in this folder, with a class that lists its ``suffixes``; files whose name
    begins with an underscore are no formats.

    Raises
    ------
    ParameterError
        If no source reads such a file.

    >>> source_for(Path("people.CSV")).__name__
    'Csv'
    """
    known = {suffix: source for source in _sources() for suffix in source.suffixes}
    fitting = [suffix for suffix in known if path.name.lower().endswith(suffix)]
    if not fitting:
        raise ParameterError(
            f"{path.name}: the name must end in {', '.join(sorted(known))}, "
            f"got {path.suffix or 'no suffix'}. Rename the file, or convert it to one of these."
        )
    return known[max(fitting, key=len)]


def _sources() -> Iterator[type[Any]]:
    """Give the class of every module of this package that reads files."""
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            loaded = importlib.import_module(f"{__name__}.{module.name}")
            source = getattr(loaded, module.name.title().replace("_", ""), None)
            if source is not None and hasattr(source, "suffixes"):
                yield source
