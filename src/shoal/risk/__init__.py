"""Measures of risk, what an attacker gains: one file each."""
