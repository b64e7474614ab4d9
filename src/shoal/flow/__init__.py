"""Stages of every command; the only package that imports all families.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings``

Files and frames go through the same rooms. What leaves is audited as it will leave: a file after it was staged on
disk and read back, a frame as it is handed over. What fails its audit is not written.
"""
