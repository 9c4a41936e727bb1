"""C = A B + bias: the cores finish each tile while the matrix unit computes the next."""
