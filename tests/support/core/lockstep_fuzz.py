"""Random programs on cores in lockstep with the instruction-set model, and their statistics."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from spica.base.errors import MachineError
from spica.hw.config import CoreConfig, MachineConfig
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import small_config
from spica.sim.machine.program_machine import ProgramMachine
from spica.sim.machine.program_outcome import ProgramOutcome
from support.programs.placed_program import PlacedProgram, place
from support.programs.random_core import core_program
from support.programs.uniform import uniform_program

__all__ = [
    "FUZZ_CONFIGS",
    "OPTIMIZE",
    "SWEEP_CONFIGS",
    "TIMINGS",
    "Tally",
    "check",
    "config_name",
    "fuzz_machine",
    "random_program",
    "run_programs",
    "shape_name",
]

#: C++ optimisation of models that run for seconds.
OPTIMIZE = 0

#: Small clusters that vary every parameter of a core. Tests of whole programs share them, so that
#: each is built once.
FUZZ_CONFIGS = (
    small_config(warps=2, threads=4),
    small_config(
        warps=1, threads=1, banks=1, collectors=1, snoop=False, writeback_buses=1, accesses=1,
        instruction_buffer=2, scheduler="oldest", fma_latency=3, multiply_latency=2,
    ),
    small_config(
        warps=4, threads=3, issue_width=2, banks=4, bank_mapping="thread", bank_arbiter="age",
        collectors=4, scheduler="greedy_then_oldest", memory_lanes=1, accesses=4,
    ),
    small_config(
        cores=2, warps=3, threads=2, banks=2, collectors=2, writeback_buses=3,
        scheduler="two_level", fp32_lanes=1, accesses=8,
    ),
    small_config(
        warps=8, threads=2, issue_width=2, banks=16, bank_arbiter="age", collectors=8,
        writeback_buses=4, accesses=32, instruction_buffer=8, fma_latency=6, multiply_latency=4,
        divide_lanes=2,
    ),
    small_config(
        barrier_scope="core", warps=2, threads=8, banks=2, bank_mapping="thread", collectors=2,
        snoop=False, integer_lanes=4, fp32_lanes=2, memory_lanes=4, special_lanes=4,
        divide_lanes=2, divergent_branch="vortex", accesses=16,
    ),
    small_config(
        warps=2, threads=5, banks=8, bank_mapping="thread", collectors=5, integer_lanes=1,
        special_lanes=1, divide_lanes=5, accesses=2, fma_latency=5, instruction_buffer=3,
    ),
)  # fmt: skip

#: Further clusters, at the limits of the parameters of a core.
SWEEP_CONFIGS = (
    small_config(
        warps=32, threads=1, banks=32, collectors=8, writeback_buses=2, scheduler="two_level",
        issue_width=2, accesses=16,
    ),
    small_config(
        warps=1, threads=32, banks=32, bank_mapping="thread", collectors=2, integer_lanes=16,
        fp32_lanes=8, memory_lanes=8, special_lanes=4, divide_lanes=4, accesses=2,
    ),
    small_config(
        warps=16, threads=2, banks=8, collectors=5, scheduler="greedy_then_oldest", accesses=2,
        bank_arbiter="age", snoop=False, writeback_buses=4,
    ),
    small_config(
        warps=5, threads=3, banks=1, collectors=7, scheduler="oldest", writeback_buses=4,
        integer_lanes=1, fp32_lanes=1, memory_lanes=3, multiply_latency=4, fma_latency=5,
    ),
    small_config(
        warps=2, threads=16, banks=16, bank_mapping="thread", bank_arbiter="age", collectors=8,
        issue_width=2, writeback_buses=1, integer_lanes=8, fp32_lanes=4, memory_lanes=2,
        divide_lanes=8, special_lanes=1, multiply_latency=2,
    ),
    small_config(
        cores=4, warps=2, threads=1, banks=2, collectors=1, barrier_scope="core", fma_latency=3,
        writeback_buses=1, accesses=4,
    ),
    small_config(
        cores=2, warps=4, threads=4, banks=8, collectors=6, issue_width=2, bank_mapping="thread",
        writeback_buses=2, accesses=16, divergent_branch="vortex", memory_lanes=2,
    ),
    small_config(
        warps=7, threads=7, banks=8, collectors=4, snoop=False, issue_width=2, accesses=1,
        scheduler="two_level", writeback_buses=3, fma_latency=6, fp32_lanes=7, integer_lanes=7,
        special_lanes=7, divide_lanes=7, memory_lanes=7, instruction_buffer=3,
    ),
    small_config(
        warps=3, threads=6, banks=4, bank_mapping="thread", collectors=3, integer_lanes=3,
        fp32_lanes=2, memory_lanes=2, special_lanes=6, divide_lanes=3, scheduler="oldest",
        instruction_buffer=5, divergent_branch="vortex", writeback_buses=2, accesses=32,
    ),
    small_config(warps=8, threads=8, accesses=16),
)  # fmt: skip

#: Memory timings: immediate; random; distant; fully random.
TIMINGS = (
    CoreMemoryConfig(),
    CoreMemoryConfig(latency=4, jitter=30, stall=0.3, silence=0.2, split=0.4, shuffle=True, seed=1),
    CoreMemoryConfig(latency=40, jitter=5, seed=2),
    CoreMemoryConfig(latency=1, jitter=3, stall=0.7, silence=0.6, split=0.9, shuffle=True, seed=3),
)


@dataclass
class Tally:
    """Statistics of programs on which cores and model agreed.

    Parameters
    ----------
    programs, instructions, thread_instructions, cycles : int
    divergent_splits, barriers : int
        Splits with threads on both sides; arrivals of warps.
    mnemonics : Counter of str
    configs : set of str
        Names of the clusters.

    """

    programs: int = 0
    instructions: int = 0
    thread_instructions: int = 0
    cycles: int = 0
    divergent_splits: int = 0
    barriers: int = 0
    mnemonics: Counter[str] = field(default_factory=Counter)
    configs: set[str] = field(default_factory=set)

    def add(self, machine: ProgramMachine, outcome: ProgramOutcome) -> None:
        """Add the statistics of a run."""
        assert machine.iss is not None
        statistics = machine.iss.statistics
        self.programs += 1
        self.instructions += outcome.instructions
        self.cycles += outcome.cycles
        for name in ("thread_instructions", "divergent_splits", "barriers"):
            setattr(self, name, getattr(self, name) + getattr(statistics, name))
        self.mnemonics.update(statistics.mnemonics)
        self.configs.add(config_name(machine.config))


def config_name(config: MachineConfig) -> str:
    """Return a cluster's shape and the core parameters that differ from their defaults."""
    core, usual = config.core, CoreConfig()
    assert core is not None
    parts = [shape_name(config), config.barrier_scope]
    for item in fields(core):
        value = getattr(core, item.name)
        if item.name not in ("warps", "threads") and value != getattr(usual, item.name):
            parts.append(f"{item.name}={value}")
    return " ".join(parts)


def shape_name(config: MachineConfig) -> str:
    """Return cores, warps and threads of a cluster; unique among the clusters here."""
    assert config.core is not None
    return f"{config.cores}x{config.core.warps}x{config.core.threads}"


def random_program(seed: int, config: MachineConfig, rounds: int) -> PlacedProgram:
    """Return a random program; every fourth seed gives one with uniform threads."""
    if seed % 4 == 3:
        return uniform_program(seed, config, length=60 * rounds)
    return core_program(seed, config, rounds=rounds)


@contextmanager
def fuzz_machine(
    config: MachineConfig, memory: CoreMemoryConfig | None = None, **options
) -> Iterator[ProgramMachine]:
    """Yield a machine in lockstep, with its model built for a short run."""
    settings = {"optimize": OPTIMIZE, "lockstep": True, "memory": memory, **options}
    with ProgramMachine(config, **settings) as machine:
        yield machine


def check(
    machine: ProgramMachine, program: PlacedProgram, tally: Tally | None = None
) -> ProgramOutcome:
    """Run a program to its end; raise `MachineError` if cores and model disagree."""
    place(machine, program)
    outcome = machine.run()
    if outcome.stop is not StopReason.DONE:
        raise MachineError(f"{outcome.stop.text}: {outcome.mismatch or outcome.fault or outcome}")
    iss = machine.iss
    assert iss is not None
    for address, size in program.regions:
        if (machine.read(address, size) != iss.read(address, size)).any():
            raise MachineError(f"memory from {address:#x} on differs from the model")
    if machine.console != iss.console:
        raise MachineError(f"console output must be {iss.console!r}, not {machine.console!r}")
    if outcome.exit_code != iss.exit_code:
        raise MachineError(f"exit code must be {iss.exit_code}, not {outcome.exit_code}")
    if tally is not None:
        tally.add(machine, outcome)
    return outcome


def run_programs(
    config: MachineConfig,
    programs: Iterable[PlacedProgram],
    tally: Tally,
    memory: CoreMemoryConfig | None = None,
    **options,
) -> None:
    """Run programs in sequence on one machine, and add up their statistics."""
    with fuzz_machine(config, memory, **options) as machine:
        for program in programs:
            try:
                check(machine, program, tally)
            except MachineError as error:
                what = program.name or f"program {tally.programs}"
                where = f"{config_name(config)}, {machine.memory}"
                raise MachineError(f"{what} on {where}: {error}") from None
