"""Connections, types and table names that database sources and sinks share."""
