"""Spark: `protect`, `audit`, `verify` and `attack` for DataFrames of a cluster; see ``docs/spark.md``."""

from shoal.api.spark import attack, audit, protect, verify

__all__ = ["attack", "audit", "protect", "verify"]
