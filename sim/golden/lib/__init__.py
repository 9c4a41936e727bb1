"""Golden models of `hw/lib`."""
