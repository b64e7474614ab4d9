"""Methods that form the classes of a stream."""
