"""Audits of privacy models, one file each, independent of the code that makes releases."""
