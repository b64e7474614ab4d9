"""Tables, columns and dialects."""
