"""Bench of successive matrix products on one machine: faults, shapes, resets."""

import random

import numpy as np

from spica.hw.config import AxiConfig, DmaConfig, MachineConfig, SharedMemoryConfig, SystolicConfig
from spica.hw.config.arithmetic import ARITHMETIC
from spica.kernels.commands import Host
from spica.kernels.gemm.data import KINDS, operands
from spica.kernels.gemm.host.plan import plan
from spica.kernels.gemm.host.schedule import schedule
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.gemm.reference import reference
from spica.sim.golden.matrix.gemm import gemm, slab
from spica.sim.harness.error_registers import describe_faults, fault_registers
from spica.sim.machine.command_machine import CommandMachine
from spica.sim.run.result_check import Check, check

__all__ = ["NARROW", "GemmBench", "checked", "random_problem"]

LIMIT = 10_000_000
#: A minimal machine: smallest queues, banks and latencies; not square, int8.
NARROW = MachineConfig(
    shared=SharedMemoryConfig(size=2048, banks=1, subbanks=4, read_latency=1),
    units=(
        SystolicConfig(
            rows=2,
            columns=8,
            operand="int8",
            multiply_add_latency=1,
            add_latency=1,
            accumulator_bytes=512,
            tile=(8, 16, 8),
            read_scale=False,
        ),
    ),
    axi=AxiConfig(masters=1, data_width=128),
    dma=DmaConfig(queue=1, contexts=1, outstanding=2),
)


def random_problem(config: MachineConfig, rng: random.Random, limit: int = 50) -> GemmProblem:
    """Return a product of random sizes, pitches and addresses, often tiny in one dimension."""
    m, n, k = (rng.choice([1, rng.randint(1, 20), rng.randint(1, limit)]) for _ in range(3))
    return GemmProblem.placed(
        m=m,
        n=n,
        k=k,
        a_pitch=k + rng.choice([0, rng.randint(1, 9)]),
        b_pitch=n + rng.choice([0, rng.randint(1, 9)]),
        c_pitch=n + rng.choice([0, rng.randint(1, 9)]),
        skew=rng.randint(0, 20),
        operand=config.units[0].operand,
        c_format=rng.choice(ARITHMETIC[config.units[0].operand].c_formats),
        relu=rng.random() < 0.3,
        scale=rng.choice([None, 0.3]) if config.units[0].scales else None,
    )


def checked(
    config: MachineConfig, problem: GemmProblem, a: np.ndarray, b: np.ndarray, kind: str, region
) -> Check:
    """Compare the region of C with the golden model and with float64."""
    depth = plan(config, problem).tiling.k
    c, touched = problem.result(region)
    expected = gemm(config.units[0], problem, a, b, depth)
    is_extreme = kind == "extreme"
    wide = reference(problem, a, b, slab(config.units[0], depth), is_extreme=is_extreme)
    options = {"touched": touched, "permits_overflow": is_extreme}
    return check(c, expected, *wide, form=problem.c_format, **options)


class GemmBench:
    """A machine after reset, its host, and the progress of the host's command list.

    Parameters
    ----------
    machine : Machine
    config : MachineConfig
        Config of the machine.

    """

    def __init__(self, machine: CommandMachine, config: MachineConfig):
        self.machine = machine
        self.config = config
        self.host = Host()
        self.done = 0

    def run(self, max_cycles: int = LIMIT) -> list[int]:
        """Execute the pending part of the host's list; return the values it read."""
        commands = self.host.commands.array()[self.done :]
        self.done = len(self.host.commands)
        return [int(value) for value in self.machine.execute(commands, max_cycles).reads]

    def faults(self) -> dict[str, int]:
        """Return the contents of the error registers."""
        registers = fault_registers(self.config)
        for address in registers.values():
            self.host.commands.read(address)
        return dict(zip(registers, self.run(), strict=True))

    def clear_faults(self):
        """Clear the error registers."""
        for name, address in fault_registers(self.config).items():
            if not name.endswith("word"):
                self.host.commands.write(address, 0)
        self.run()

    def resume(self):
        """Recover from an aborted list: wait until the machine is idle, and restart the counts."""
        self.host = host = Host(after_reset=False)
        self.done = 0
        host.commands.wait_equal(host.dma.address("running"), 0)
        host.wait_idle()
        host.commands.read(host.dma.address("loads_done"))
        host.commands.read(host.matrix.address("computes_done"))
        host.loads, host.computes = self.run()

    def place(self, problem: GemmProblem, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Put operands and guards into DRAM and commands on the list; return the operands."""
        a, b = operands(problem, kind, seed)
        for address, data in problem.image(a, b):
            self.machine.write(address, data)
        schedule(self.config, problem, self.host)
        return a, b

    def verdict(
        self, problem: GemmProblem, a: np.ndarray, b: np.ndarray, kind: str = "random"
    ) -> Check:
        """Compare DRAM with the golden model and with float64."""
        return checked(self.config, problem, a, b, kind, self.machine.read(*problem.c_region))

    def product(self, problem: GemmProblem, kind: str = "random", seed: int = 1) -> Check:
        """Compute a product and check it."""
        a, b = self.place(problem, kind, seed)
        self.run()
        return self.verdict(problem, a, b, kind)

    def assert_right(self, problem: GemmProblem, kind: str = "random", seed: int = 1):
        """Fail unless a product is correct and no error register is set."""
        outcome = self.product(problem, kind, seed)
        assert outcome.passed, (problem, kind, seed, outcome)
        faults = describe_faults(self.faults())
        assert not faults, (problem, faults)

    def assert_many_right(self, count: int, rng: random.Random, limit: int = 50):
        """Fail at the first of `count` random products that is wrong."""
        for _ in range(count):
            problem = random_problem(self.config, rng, limit)
            self.assert_right(problem, rng.choice(KINDS), rng.randrange(1 << 30))
