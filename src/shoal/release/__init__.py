"""Releases, which replace the values of each class, one file each."""
