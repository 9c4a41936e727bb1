"""Golden models of `hw/core/control`."""
