"""Risks of a release against a control: records that were set aside before it was made.

An attack that succeeds for people outside the release as often as for people in it has learnt about the world, not
about a person. The excess is the share of attacks that fail on the control and that membership makes succeed:
(members − control) / (1 − control).
"""
