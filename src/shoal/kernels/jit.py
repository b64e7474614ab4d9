"""How kernels are compiled."""

from __future__ import annotations

from numba import njit

# Exact: no fastmath, so that operations are neither reordered nor contracted.
# _nrt=False: a kernel borrows its arrays from the caller, allocates none, and so counts no references. Counting them
# takes an atomic instruction whenever an array is taken out of a tuple, a third of the time of a search.
kernel = njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
