"""A cluster that tests itself on an FPGA."""
