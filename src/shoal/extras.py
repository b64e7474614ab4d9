"""Optional packages: imported where they are used, or refused with the command that installs them."""

from __future__ import annotations

import importlib
from typing import Any

from shoal.errors import ParameterError


def package(name: str, extra: str, owner: object) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != name.partition(".")[0]:
            raise
    raise ParameterError(f"{owner}: needs the package {name}. Install it with pip install 'shoal[{extra}]'.")
