"""Risks of a release against a control: records that were set aside before it was made."""
