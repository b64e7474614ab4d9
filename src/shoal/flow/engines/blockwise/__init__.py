"""Work in blocks: what engines share that never hold all records at once, on disk and on a cluster."""
