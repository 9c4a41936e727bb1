"""Micro-benchmarks of a core: measured cycles against those of its definition."""
