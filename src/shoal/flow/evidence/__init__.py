"""Evidence and receipts of a run."""
