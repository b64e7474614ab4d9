"""Measures of information loss, one file each."""
