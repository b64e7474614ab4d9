"""Stages that several commands share: reading, values, subjects, measures."""
