"""Demands of privacy models on classes, and methods that meet them."""
