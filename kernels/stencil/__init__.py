"""Jacobi iteration of a 5-point stencil on a grid with a fixed border."""
