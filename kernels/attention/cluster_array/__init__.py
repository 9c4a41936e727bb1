"""Attention on a matrix unit: the unit multiplies, the cores compute softmax."""
