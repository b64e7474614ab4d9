"""Attacks on a release, one file each."""
