"""The machine: clusters, the L2 slices and AXI masters that they share, and their host."""
