"""A program with its data, to be loaded into the memory of a machine."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spica.hw.config import MachineConfig
from spica.hw.isa.memory_map import DRAM_BASE, DRAM_END, ENTRY
from spica.hw.isa.program import Program, assemble_program
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss

__all__ = ["LIMIT", "PlacedProgram", "complete", "is_dram", "left", "modelled", "place"]

LIMIT = 10_000_000


@dataclass(frozen=True)
class PlacedProgram:
    """A program at `ENTRY` and its data.

    Parameters
    ----------
    text : str
        Source text in assembly.
    data : tuple of (int, bytes)
        Initial contents: address and bytes.
    regions : tuple of (int, int)
        Address and size of all memory that it may access besides its code.
    name : str
        Identifies the program, so that it can be regenerated.

    """

    text: str
    data: tuple[tuple[int, bytes], ...] = ()
    regions: tuple[tuple[int, int], ...] = ()
    name: str = ""

    @cached_property
    def program(self) -> Program:
        """Assembled program with its labels."""
        return assemble_program(self.text, ENTRY)


def is_dram(address: int) -> bool:
    """Return True for addresses of DRAM, which programs may access only if allowed."""
    return DRAM_BASE <= address < DRAM_END


def left(machine: Any, program: PlacedProgram) -> list[bytes]:
    """Return the final DRAM contents of a program."""
    return [machine.read(*region).tobytes() for region in program.regions if is_dram(region[0])]


def place(machine: Any, program: PlacedProgram) -> None:
    """Write a program and its data to a machine, and zeros to its other regions."""
    code = program.program.data
    machine.allow(ENTRY, len(code))
    # A program that runs off its end must not meet instructions of an earlier program.
    machine.write(ENTRY, code + bytes(64))
    for address, size in program.regions:
        if is_dram(address):
            machine.allow(address, size)
        machine.write(address, bytes(size))
    for address, data in program.data:
        machine.write(address, data)


def complete(machine: Any, program: PlacedProgram) -> Any:
    """Run a program on a machine to its end; return the outcome."""
    place(machine, program)
    outcome = machine.run(LIMIT)
    assert outcome.stop is StopReason.DONE, outcome
    return outcome


def modelled(config: MachineConfig, program: PlacedProgram, schedule="round_robin", seed=1) -> Iss:
    """Return the model with its engines after a program."""
    iss = Iss(config, schedule=schedule, seed=seed)
    complete(iss, program)
    assert not iss.devices.error
    return iss
