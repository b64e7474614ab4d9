"""Spark engine: the same plan and the same block function as on disk, run by a cluster."""
