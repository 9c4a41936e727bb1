"""Atomic operations of an L2 slice."""
