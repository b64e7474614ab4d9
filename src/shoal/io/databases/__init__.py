"""Connections, types and table names shared by database sources and sinks."""
