"""Golden models of tensor units with operands in registers."""
