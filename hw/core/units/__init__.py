"""Execution units, one folder per port of the core; those of the tensor port are styles."""
