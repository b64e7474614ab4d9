"""Object stores: copies of their files and folders, and folders that are published there."""
