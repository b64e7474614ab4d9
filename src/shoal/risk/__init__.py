"""Measures of disclosure risk, one file each."""
