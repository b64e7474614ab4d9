"""Kernels: array functions that numba compiles to machine code.

A method's own file in :mod:`shoal.partition` states its guarantees, its cost and its departures from the paper. A
kernel states the shapes of its arrays and how it rounds. Unless it says otherwise:

- `points` and `x` are (n, d) float64, C-contiguous and finite, with k ≤ n < 2³⁰ and d ≥ 1; they are not modified.
- `labels` are (n,) int64, the class of each record, from 0 without gaps. Returned labels are numbered by first row.
- `k` is the minimum class size, at least 2. `seed` is at least 0; the same seed gives the same labels.
- Squared distances are sums of (xⱼ − qⱼ)² in float64 in coordinate order. The centroid of the remaining records is
  their correctly rounded sum, divided by their number. Ties go to the lowest row, and between classes to the one
  formed first.
- Results do not depend on the number of threads.
"""
