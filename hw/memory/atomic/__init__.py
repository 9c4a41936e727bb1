"""Atomic operations on words of memory."""
