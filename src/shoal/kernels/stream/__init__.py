"""Kernels of the stream methods."""
