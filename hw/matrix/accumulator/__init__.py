"""Accumulator SRAM and its drain."""
