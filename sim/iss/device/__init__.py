"""Functional models of the DMA and the matrix unit: no clock, but a defined order."""
