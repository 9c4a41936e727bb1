"""Products on tensor units with operands in shared memory: exact work."""
