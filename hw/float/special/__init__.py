"""Special functions: reciprocal, roots, exponential, logarithm, sine and cosine."""
