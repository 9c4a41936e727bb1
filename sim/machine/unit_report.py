"""Report of a stopped cluster: error registers, progress and waits of each unit."""

import numpy as np

from ...hw.config import MachineConfig
from ...hw.isa.memory_map import CORES, CORES_BASE
from ...hw.machine.counters import counter_table
from ...kernels.commands import CommandList, Operation
from ..harness.error_registers import describe_faults, fault_registers, unit_registers, units_of
from ..harness.stop_reason import StopReason
from .machine import Machine

__all__ = ["describe_units", "flush_caches", "read_faults"]

QUIET_CYCLES = 1000  # without a response of the control port: it is stuck as well


def state_registers(config: MachineConfig) -> dict[str, int]:
    """Return the addresses of progress and error registers of all units, by name."""
    far = unit_registers(
        config,
        dma=("running", "loads_done", "stores_done"),
        matrix=("running", "computes_done"),
    )
    return far | fault_registers(config)


def read_registers(machine: Machine, reads: CommandList) -> list[int]:
    """Read registers of a stopped cluster; return the values of its responses.

    The machine continues to run during the reads.
    """
    commands, harness = reads.array(), machine.harness
    count = np.count_nonzero(commands[:, 0] == Operation.READ)
    harness.begin(commands, max_cycles=1 << 20, watchdog=QUIET_CYCLES, stop_on_error=False)
    while harness.state().stop == StopReason.NONE and harness.state().reads < count:
        machine.engine.run(harness, QUIET_CYCLES)
    return [int(value) for value in harness.reads()]


def flush_caches(machine: Machine) -> None:
    """Write dirty lines of the L2 back to DRAM while cores run on.

    The second flush is for lines that stores reached during the first.
    """
    flush, commands = CORES_BASE + CORES["flush"].offset, CommandList()
    for _ in range(2):
        commands.write(flush, 1)
        commands.wait_equal(flush, 0)
    commands.read(flush)
    read_registers(machine, commands)


def read_faults(machine: Machine, config: MachineConfig) -> dict[str, int]:
    """Read the error registers of a finished cluster; return the input of `describe_faults`."""
    registers, reads = fault_registers(config), CommandList()
    for address in registers.values():
        reads.read(address)
    return dict(zip(registers, read_registers(machine, reads), strict=True))


def describe_units(machine: Machine, config: MachineConfig) -> str:
    """Return the progress of each unit of a stopped cluster, active counters and errors, as text.

    The machine continues to run during the register reads; its previous state is lost.
    """
    registers, table = state_registers(config), counter_table(config)
    reads = CommandList()
    for address in registers.values():
        reads.read(address)
    for _ in range(2):
        for counter in table:
            reads.read(counter.address)
    responses = read_registers(machine, reads)
    if len(responses) < len(reads):
        return "the control port does not respond"
    values = dict(zip(registers, responses, strict=False))
    before, after = responses[len(registers) : -len(table)], responses[-len(table) :]
    counting = [
        f"{counter.name} ({counter.meaning})"
        for counter, first, second in zip(table, before, after, strict=True)
        if first != second
    ]
    parts = [
        f"{words.removeprefix('the ')}: {values[f'{unit}_running']} host descriptors pending, "
        f"{values[f'{unit}_loads_done']} loads and {values[f'{unit}_stores_done']} stores done"
        for unit, words in units_of(values, "dma", "running")
    ]
    parts += [
        f"{words.removeprefix('the ')}: {values[f'{unit}_running']} commands pending, "
        f"{values[f'{unit}_computes_done']} computes done"
        for unit, words in units_of(values, "matrix", "running")
    ]
    parts.append(f"still counting: {', '.join(counting) or 'none'}")
    return "; ".join([*parts, *filter(None, [describe_faults(values)])])
