"""Writer of Verilog from Amaranth's netlist."""
