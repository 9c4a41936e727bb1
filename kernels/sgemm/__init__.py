"""Product of two FP32 matrices on the SIMT lanes: C = A B."""
