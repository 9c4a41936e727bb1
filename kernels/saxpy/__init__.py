"""Scaled sum of two vectors, in place: y = a x + y."""
