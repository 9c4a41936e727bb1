"""Sum of the elements of a vector."""
