"""`inspect`: guessed roles, unique records, and a recipe to start from."""
