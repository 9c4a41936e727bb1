"""Products on a matrix unit: exact work, and the timeline of DMA, DRAM and array."""
