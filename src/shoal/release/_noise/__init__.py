"""Noise: samplers, grids and the split of a privacy budget."""
