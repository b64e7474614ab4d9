"""Classes become released values: each file says what leaves in place of the members."""
