"""Sinks of releases: one file per format, chosen by the suffix of the file name.

A new format is one new file in this folder, with a class that declares its ``suffixes`` or ``schemes``: texts, written
out, with a type, since they are read without importing the file. Files whose name begins with an underscore are no
formats.
"""
