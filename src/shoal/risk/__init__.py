"""What an intruder gains: each file is one measure with its goal and range."""
