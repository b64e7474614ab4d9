"""Recoding of columns as a recipe declares it, before classes are formed."""
