"""Formats and metrics of a running stream."""
