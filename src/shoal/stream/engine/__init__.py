"""Lanes of a stream: intake, demands, classes and counters."""
