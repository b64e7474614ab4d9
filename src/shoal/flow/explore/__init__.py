"""`explore`: settings tried on a sample, and the frontier of risk and loss."""
