"""Self-test of a cluster on an FPGA."""
