"""Shared memory and DMA."""
