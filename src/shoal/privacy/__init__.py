"""Audits of privacy models: one file each, which shares no code with what made the release."""
