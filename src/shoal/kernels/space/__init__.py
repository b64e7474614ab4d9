"""Spatial index, nearest and farthest points, principal axes."""
