"""L1 instruction and data caches."""
