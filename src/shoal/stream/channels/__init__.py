"""Channels, from which tuples are read and to which classes are written: one file each."""
