"""Special functions: reciprocal, roots, powers, logarithms, sine and cosine."""
