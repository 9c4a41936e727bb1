"""Golden models of `hw/memory/dma`."""
