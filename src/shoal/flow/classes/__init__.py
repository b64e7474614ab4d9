"""Classes: partition, repair, refinement, strata and households."""
