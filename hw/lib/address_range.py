"""Comparators of byte addresses with the ranges of the memory map."""

from amaranth import *

from ..isa.memory_map import DRAM_BASE, DRAM_END

__all__ = ["is_dram", "within"]


def within(address: Value, start: int, end: int) -> Value:
    """Return whether a byte address lies from `start` to before `end`.

    Bits that are 0 in both are not compared.
    """
    free = min((start & -start), (end & -end)).bit_length() - 1
    upper = address[free:]
    if end - start == 1 << free:
        return upper == start >> free
    return (upper >= start >> free) & (upper < end >> free)


def is_dram(address: Value) -> Value:
    """Return whether a byte address is in DRAM."""
    return within(address, DRAM_BASE, DRAM_END)
