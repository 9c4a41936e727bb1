"""Softmax of each row of a matrix: exponentials normalised to a sum of 1."""
