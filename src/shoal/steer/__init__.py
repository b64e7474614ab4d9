"""Artificial attributes that steer a partition, one file each."""
