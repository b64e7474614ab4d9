"""Encoders of columns as coordinates, and decoders of class values, one file per family of kinds.

A file lists the kinds it serves in ``kinds``. Its class is an attribute of the points: it knows its coordinates, the
coordinates of other values of the same column, and the centroid of each class.
"""
