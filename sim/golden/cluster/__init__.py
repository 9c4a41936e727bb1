"""Golden models of `hw/cluster`."""
