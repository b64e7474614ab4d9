"""Findings become documents: each file is one."""
