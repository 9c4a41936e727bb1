"""Synthesis and cost of a design: cells, area, logic depth, FPGA resources."""
