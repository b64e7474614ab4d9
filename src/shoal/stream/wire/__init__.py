"""Formats of tuples as bytes: one file each."""
