"""Programs on the cores of a whole cluster: started over AXI4-Lite, code and data in DRAM."""

from dataclasses import dataclass

from spica.hw.isa.memory_map import CORES, CORES_BASE, ENTRY, core_registers
from spica.kernels.commands import CommandList
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.machine.outcome import Execution
from support.core.core_bench import image

__all__ = ["ProgramRun", "run_program", "start_commands"]

RUNS = 1


@dataclass
class ProgramRun:
    """Results of a program: execution on the machine, exit codes, DRAM and console."""

    execution: Execution
    exit_codes: list[int]
    memory: bytes
    console: bytes


def start_commands(cores: int, console: int = 0) -> CommandList:
    """Return commands that start all cores, wait for their end, and read the exit codes.

    They also read `console` bytes of the console.
    """
    commands = CommandList()
    commands.write(CORES_BASE + CORES["start"].offset, 1)
    commands.wait_equal(CORES_BASE + CORES["state"].offset, 0, RUNS)
    for name, register in core_registers(cores).items():
        if name.startswith("exit_code"):
            commands.read(CORES_BASE + register.offset)
    for _ in range(console):
        commands.read(CORES_BASE + CORES["console"].offset)
    return commands


def run_program(
    machine: CommandMachine, text: str, room: int, *, console: int = 0, max_cycles: int = 200_000
) -> ProgramRun:
    """Assemble and run `text`; return its results and the first `room` bytes of DRAM."""
    assert machine.config is not None
    cores = machine.config.cores
    machine.write(ENTRY, image(text, room))
    execution = machine.execute(start_commands(cores, console).array(), max_cycles)
    reads = [int(value) for value in execution.reads]
    printed = reads[cores:]
    return ProgramRun(
        execution=execution,
        exit_codes=reads[:cores],
        memory=machine.read(ENTRY, room).tobytes(),
        console=bytes(value & 0xFF for value in printed if value >> 8 & 1),
    )
