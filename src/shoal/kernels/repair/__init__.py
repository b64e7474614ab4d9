"""Repair of classes that miss a demand."""
