"""Execution units, one folder per port of the core."""
