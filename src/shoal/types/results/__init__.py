"""Releases, findings, readings and other results of a run."""
