"""Golden models of `hw/core`."""
