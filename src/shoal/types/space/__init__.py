"""Points, axes, partitions and comparisons."""
