"""Formats, messages and metrics of a running stream."""
