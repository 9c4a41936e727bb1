"""Golden models of `hw/core/units`."""
