"""Attention on tensor units with operands in registers: exact work."""
