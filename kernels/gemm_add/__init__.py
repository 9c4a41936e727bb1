"""C = A B + C: the matrix unit multiplies, the cores add."""
