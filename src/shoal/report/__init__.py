"""Documents about a run: report, evidence and frontier."""
