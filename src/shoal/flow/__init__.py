"""Stages of every command; the only package that imports all families.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings``

Files and frames go through the same stages. The audit sees exactly what will be published: a file after it was staged
on disk and read back, a frame as it is returned. Output that fails its audit is never written.
"""
