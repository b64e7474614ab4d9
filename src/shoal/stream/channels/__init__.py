"""Channels that read tuples and write classes: one file each."""
