"""Decisions before classes are formed, and refusals."""
