"""Databases: how they are reached, and what sources and sinks share about them. No table is read or written here."""
