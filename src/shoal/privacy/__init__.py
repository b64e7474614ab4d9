"""Releases become findings: each file audits one privacy model, and shares nothing with what made the release."""
