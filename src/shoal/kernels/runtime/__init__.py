"""Compilation, threads and vector lanes."""
