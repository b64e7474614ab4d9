"""Roles and kinds of columns, and the values of text cells."""
