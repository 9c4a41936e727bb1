"""Golden models of `hw/arith/special`."""
