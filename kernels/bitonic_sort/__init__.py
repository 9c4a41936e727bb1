"""In-place bitonic sort of 32-bit unsigned integers."""
