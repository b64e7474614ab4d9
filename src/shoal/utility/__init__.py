"""What an analyst loses: each file is one measure with its goal and range."""
