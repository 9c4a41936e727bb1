"""Transpose of a matrix of 32-bit words."""
