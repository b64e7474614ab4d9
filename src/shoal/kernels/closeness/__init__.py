"""t-closeness: the earth mover's distance, merging, k-first and t-first."""
