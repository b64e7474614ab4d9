"""Disk engine: tables that are larger than memory, in passes over blocks on disk."""
