"""How kernels are compiled.

Exact: no fastmath, so that operations are neither reordered nor contracted.

`_nrt=False`: a kernel borrows its arrays from the caller, allocates none, and so counts no references. Counting them
takes an atomic instruction whenever an array is taken out of a tuple, a third of the time of a search.

A `part` is called by kernels only. It needs no entry from Python, which would take longer to compile than the part,
and is kept in the cache inside the kernels that call it.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba

from shoal.kernels.runtime.cache import KernelCache
from shoal.progress import say

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_njit: Any = numba.njit

part = _njit(no_cpython_wrapper=True, **OPTIONS)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function for callers in Python, and keep it on disk where there is a place to."""
    compiled = _njit(**OPTIONS)(function)
    with suppress(RuntimeError):  # neither the package's folder nor the user's can be written to
        compiled._cache = KernelCache(function)
    return compiled


def announce(function: Any) -> None:
    """Say that a kernel will be compiled, if it is neither loaded nor found in the cache on disk."""
    name = f"{function.py_func.__module__.split('.')[-1]}.{function.py_func.__name__}"
    folder = function.stats.cache_path
    if not function.signatures and not (folder and any(Path(folder).glob(f"{name}-*.nbi"))):
        say("compiling the kernels, once; this takes a few seconds")
