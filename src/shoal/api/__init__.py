"""The verbs of shoal, one file each: what Python users and the command line call."""
