"""Netlist as the writer needs it: live bits, flows, choices, processes."""
