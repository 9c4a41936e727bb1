"""Stages of the L1 instruction cache."""
