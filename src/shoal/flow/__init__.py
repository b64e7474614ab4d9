"""Runs the stages; the only room that knows all of them.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings``

Files and frames go through the same rooms. What leaves is audited as it will leave: a file after it was staged on
disk and read back, a frame as it is handed over. What fails its audit is not written.
"""
