"""Floating-point and integer arithmetic."""
