"""A method and a measure for shoal."""
