"""Tensor Core dot products, in the numerics of each GPU generation."""
