"""Attention on the tensor units of the cores, with fragments in registers."""
