"""Gate: the release is read back and audited before it is published."""
