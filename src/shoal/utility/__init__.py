"""Measures of loss, what an analyst loses: one file each."""
