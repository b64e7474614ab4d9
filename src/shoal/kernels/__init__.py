"""Kernels, arrays in and arrays out: machine code that numba compiles."""
