"""Tensor unit with operands in shared memory: its access part runs ahead of the products."""
