"""Verification of evidence against a release."""
