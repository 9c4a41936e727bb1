"""What the DMA and the matrix unit do, as programs see it: no clock, but an order."""
