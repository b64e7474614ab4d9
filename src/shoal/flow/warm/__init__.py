"""Compilation of all kernels before they are needed."""
