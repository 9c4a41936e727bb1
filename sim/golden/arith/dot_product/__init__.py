"""Golden models of `hw/arith/dot_product`."""
