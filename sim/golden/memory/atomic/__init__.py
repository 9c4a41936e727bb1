"""Golden models of `hw/memory/atomic`."""
