"""Systolic matrix unit."""
