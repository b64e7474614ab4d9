"""Fields of a tuple as coordinates, in domains known before the first tuple comes."""
