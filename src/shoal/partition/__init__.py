"""Methods that form classes of at least k records, one file each."""
