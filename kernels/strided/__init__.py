"""Strided copy: every stride-th word of a vector, y[i] = x[stride i]."""
