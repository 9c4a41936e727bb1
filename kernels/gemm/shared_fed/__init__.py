"""C = A B on the tensor units of the cores, with operands in shared memory."""
