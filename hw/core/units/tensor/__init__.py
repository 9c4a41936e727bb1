"""Tensor unit: matrix products on fragments in the registers of a warp."""
