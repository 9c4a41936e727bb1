"""Tensor units in the instruction-set model, by style."""
