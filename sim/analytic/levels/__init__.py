"""Bytes between caches and DRAM in closed form."""
