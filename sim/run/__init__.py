"""Runs of kernels and programs: loading, executing, checking."""
