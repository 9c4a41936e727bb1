"""Golden models of `hw/arith`."""
