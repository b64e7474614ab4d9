"""Points become labels: each file is a method that forms classes of at least k records."""
