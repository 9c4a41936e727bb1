"""Golden models of `hw/memory`."""
