"""Gather of words at random indices of a table: y[i] = x[index[i]]."""
