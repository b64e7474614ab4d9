"""Gate of a stream: every class is read back and audited before it is released."""
