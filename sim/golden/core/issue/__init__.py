"""Golden models of `hw/core/issue`."""
