"""Lower bounds on the information loss."""
