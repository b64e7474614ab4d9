"""Kernels, arrays in and arrays out: machine code that numba compiles.

What a method promises, what it costs and where it departs from its paper is stated in its own file, in
:mod:`shoal.partition`. A kernel states the shapes of its arrays and how it rounds. Unless it says otherwise:

- `points` and `x` are (n, d) float64, C-contiguous and finite, with k ≤ n < 2³⁰ and d ≥ 1; they are left as they are.
- `labels` are (n,) int64, the class of each record, from 0 without gaps. Labels returned are numbered by first rows.
- `k` is the least size of a class, at least 2. `seed` is at least 0; the same seed gives the same labels.
- Squared distances are sums of (xⱼ − qⱼ)² in float64 in coordinate order. The centroid of the records that remain is
  their correctly rounded sum, divided by their number. Ties go to the lowest row, and between classes to the one
  formed first.
- The number of threads changes no result.
"""
