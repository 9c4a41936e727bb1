"""Kernels, their data and reference results, the C runtime, and the compilation of programs."""
