"""Benches of shared memory."""
