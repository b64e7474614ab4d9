"""Cards and figures that show results in a notebook; built from counts and names, never from cells."""
