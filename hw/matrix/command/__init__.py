"""Command port of the matrix unit: registers, decoding, checks."""
