"""Arithmetic: floating point, special functions, dot products."""
