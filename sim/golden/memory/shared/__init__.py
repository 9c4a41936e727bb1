"""Golden models of `hw/memory/shared`."""
