"""Memory system: shared memory, L1 and L2 caches, DMA, and the paths from cores to them."""
