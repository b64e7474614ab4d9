"""Engines: where the blocks of a plan are partitioned and released."""
