"""Roles and kinds of columns, and values of text cells."""
