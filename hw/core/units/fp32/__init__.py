"""FP32 unit."""
