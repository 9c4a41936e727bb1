"""Stages of the L1 data cache."""
