"""Golden models of `hw/memory/barrier`."""
