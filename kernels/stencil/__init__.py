"""Jacobi steps of a 5-point stencil on a grid whose border stays."""
