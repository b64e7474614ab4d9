"""Sources of tables: one file per format, chosen by the suffix of the file name.

A new format is one new file in this folder, with a class that lists its ``suffixes``; files whose name begins with an
underscore are no formats.
"""
