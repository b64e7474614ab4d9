"""How tuples are written as bytes."""
