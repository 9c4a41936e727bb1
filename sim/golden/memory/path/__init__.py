"""Golden models of `hw/memory/path`."""
