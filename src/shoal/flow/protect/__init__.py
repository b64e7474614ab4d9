"""`protect`: from a table to audited, published files."""
