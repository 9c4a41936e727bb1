"""Softmax of each row of a matrix: exponentials that sum to 1."""
