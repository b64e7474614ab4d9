"""Sources of tables: one file per format, chosen by the suffix of the file name.

A new format is one new file in this folder, with a class that declares its ``suffixes`` or ``schemes`` as annotated
literals, since they are read without importing the file. Files whose names begin with an underscore are not formats.
"""
