"""Files and pipes as channels, with their journal."""
