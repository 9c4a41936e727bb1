"""Benches of units: arithmetic and shared memory."""
