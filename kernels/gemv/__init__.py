"""Product of an FP32 matrix and a vector: y = A x."""
