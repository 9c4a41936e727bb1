"""Divide and square-root unit."""
