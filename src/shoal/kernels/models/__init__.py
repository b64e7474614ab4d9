"""Demands of privacy models, and methods that meet them."""
