"""Counts of classes, values and people in audits."""
