"""Golden models of `hw/memory/l1`."""
