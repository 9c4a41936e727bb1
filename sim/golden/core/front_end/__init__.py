"""Golden models of `hw/core/front_end`."""
