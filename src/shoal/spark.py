"""Spark: `protect` and `audit` for DataFrames of a cluster; see ``docs/spark.md``."""

from shoal.api.spark import protect

__all__ = ["protect"]
