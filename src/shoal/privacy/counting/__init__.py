"""Classes, values and people as audits count them."""
