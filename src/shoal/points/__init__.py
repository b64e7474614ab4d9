"""Columns as coordinates, and class values as columns again: one file per family of kinds.

A file claims the kinds it serves in ``kinds``. Its class is an attribute of the points: it knows its coordinates,
where other values of the same column lie among them, and the centroid of each class.
"""
