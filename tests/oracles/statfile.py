"""What codes and moments of statistical packages mean, transcribed. Obviously right, and slow."""

from __future__ import annotations

import datetime as dt

BEGINNINGS = {"spss": dt.datetime(1582, 10, 14), "stata": dt.datetime(1960, 1, 1), "sas": dt.datetime(1960, 1, 1)}
UNITS = {
    ("spss", "date"): dt.timedelta(seconds=1),
    ("spss", "moment"): dt.timedelta(seconds=1),
    ("stata", "date"): dt.timedelta(days=1),
    ("stata", "moment"): dt.timedelta(milliseconds=1),
    ("sas", "date"): dt.timedelta(days=1),
    ("sas", "moment"): dt.timedelta(seconds=1),
}


def is_user_missing(value, ranges):
    """A value is missing if it is one of the declared codes, or within a declared range, ends included."""
    if value is None:
        return False
    return any(isinstance(value, str) == isinstance(low, str) and low <= value <= high for low, high in ranges)


def number_of(moment, package, shown):
    """The number that a moment is: units of the package since its beginning."""
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    return (moment - BEGINNINGS[package]) / UNITS[package, shown]
