"""Golden models of `hw/matrix`."""
