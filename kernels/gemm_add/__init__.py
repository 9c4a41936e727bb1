"""C = A B + C by the matrix unit, added up by the cores."""
