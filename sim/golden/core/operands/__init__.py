"""Golden models of `hw/core/operands`."""
