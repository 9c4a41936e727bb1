"""Golden model of `hw/memory/l2`."""
