"""Path from a core to its caches, shared memory and unit registers."""
