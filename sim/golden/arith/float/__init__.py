"""Golden models of `hw/arith/float`."""
