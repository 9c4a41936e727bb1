"""A program with the data it works on, to be placed in the memory of a machine."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...hw.address_map import DRAM_BASE, DRAM_END, ENTRY
from ...hw.isa.program import Program, assemble_program

__all__ = ["PlacedProgram", "is_dram", "place"]


@dataclass(frozen=True)
class PlacedProgram:
    """A program at `ENTRY` and its data.

    Parameters
    ----------
    text : str
        In assembly.
    data : tuple of (int, bytes)
        What lies where, before it runs.
    regions : tuple of (int, int)
        Address and bytes of all that it may touch besides its code.
    name : str
        By which it can be made again.

    """

    text: str
    data: tuple[tuple[int, bytes], ...] = ()
    regions: tuple[tuple[int, int], ...] = ()
    name: str = ""

    @cached_property
    def program(self) -> Program:
        """Its words and labels."""
        return assemble_program(self.text, ENTRY)


def is_dram(address: int) -> bool:
    """Return whether an address is one of DRAM, which programs may touch where they are allowed."""
    return DRAM_BASE <= address < DRAM_END


def place(machine: Any, program: PlacedProgram) -> None:
    """Write a program and its data to a machine, and zeros to all else that it may touch."""
    code = program.program.data
    machine.allow(ENTRY, len(code))
    # Who runs off its end meets no instruction, be it one of a program placed before.
    machine.write(ENTRY, code + bytes(64))
    for address, size in program.regions:
        if is_dram(address):
            machine.allow(address, size)
        machine.write(address, bytes(size))
    for address, data in program.data:
        machine.write(address, data)
