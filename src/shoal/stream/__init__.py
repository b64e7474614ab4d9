"""Streams: tuples arriving one by one, classes leaving within a bounded delay."""
