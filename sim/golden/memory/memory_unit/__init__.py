"""Golden models of `hw/memory/memory_unit`."""
