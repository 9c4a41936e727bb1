"""Emission: components become Verilog, with one module per distinct block."""
