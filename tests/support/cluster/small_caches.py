"""Cluster with tiny caches, and the DRAM models it is tested with."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from spica.hw.config import CacheConfig, CoreConfig, L2Config
from spica.hw.isa.memory_map import ENTRY
from spica.hw.presets import PRESETS
from spica.sim.harness.dram import DramConfig
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.machine.outcome import Execution
from support.cluster.host_run import start_commands
from support.programs.placed_program import PlacedProgram, is_dram

__all__ = ["MEMORIES", "SMALL_CACHES", "place_alone", "run_placed", "small_machines"]

#: Four lines in each L1D, eight in each slice of the L2.
SMALL_CACHES = replace(
    PRESETS["tiny"],
    cores=2,
    core=CoreConfig(warps=2, threads=2, l1d=CacheConfig(size=256, ways=2, mshrs=2, prefetch=0)),
    l2=L2Config(size=512, ways=2, mshrs=4, write_backs=4),
)
#: High latency and out of order; low bandwidth; many stalls and few banks; low latency.
MEMORIES = (
    DramConfig(latency=20, stall=0.3, jitter=60, seed=1),
    DramConfig(latency=60, stall=0.1, jitter=100, bytes_per_cycle=4.0, seed=2),
    DramConfig(latency=5, stall=0.5, jitter=20, banks=2, seed=3),
    DramConfig(latency=1, jitter=5, seed=4),
)
GATINGS = ("gated", "random", "ungated", "gated")


@contextmanager
def small_machines() -> Iterator[list[CommandMachine]]:
    """Yield a machine for each DRAM model, with all kinds of clock gating."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                CommandMachine(
                    SMALL_CACHES, name="small_caches", optimize=1, memory=dram, gating=gating
                )
            )
            for dram, gating in zip(MEMORIES, GATINGS, strict=True)
        ]


def place_alone(machine: CommandMachine, program: PlacedProgram) -> None:
    """Write a program to a reset machine, whose DRAM holds nothing else."""
    machine.reset()
    machine.write(ENTRY, program.program.data)
    for address, data in program.data:
        if is_dram(address):
            machine.write(address, data)


def run_placed(
    machine: CommandMachine, program: PlacedProgram, max_cycles: int = 10_000_000
) -> Execution:
    """Reset a machine, and run a program on it to its end."""
    place_alone(machine, program)
    assert machine.config is not None
    return machine.execute(start_commands(machine.config.cores).array(), max_cycles)
