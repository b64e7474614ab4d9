"""Plan of a run: all decisions and refusals, before any class is formed."""
