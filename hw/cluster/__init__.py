"""The cluster: cores, memories, matrix units and DMA, with host control and counters."""
