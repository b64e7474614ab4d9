"""Releases, which replace the values of a class: one file each."""
