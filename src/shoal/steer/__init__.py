"""Artificial attributes that steer a partition, one file each; the file name is the name in recipes and commands."""
