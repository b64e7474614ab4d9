"""Refinement of partitions: moves, annealing and recombination."""
