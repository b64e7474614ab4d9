"""Files, frames and databases."""
