"""Engines: Amaranth's simulator and Verilator, with compiler and caches."""
