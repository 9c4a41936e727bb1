"""Sum of two vectors: z = x + y."""
