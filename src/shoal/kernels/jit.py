"""How kernels are compiled.

Exact: no fastmath, so that operations are neither reordered nor contracted.

`_nrt=False`: a kernel borrows its arrays from the caller, allocates none, and so counts no references. Counting them
takes an atomic instruction whenever an array is taken out of a tuple, a third of the time of a search.

A `part` is called by kernels only. It needs no entry from Python, which would take longer to compile than the part,
and is kept in the cache inside the kernels that call it.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True)
part = njit(nogil=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True)
