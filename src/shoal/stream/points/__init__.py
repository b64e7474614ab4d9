"""Fields of a tuple as coordinates, scaled to declared domains: one file per family of kinds."""
