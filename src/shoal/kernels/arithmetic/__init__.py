"""Exact sums, class means and scaling."""
