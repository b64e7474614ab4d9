"""What columns mean: their roles, their kinds, and how cells of text become values."""
