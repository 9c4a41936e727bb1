"""Tensor-core dot products with the numerics of each GPU generation."""
