"""Stages shared by several commands: reading, values, subjects, measures."""
