"""L2 cache."""
