"""Lockstep: every retired instruction compared with the instruction-set model."""
