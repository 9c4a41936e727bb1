"""Concurrent products on several matrix units, each with a part of shared memory, for one host."""

from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from spica.hw.config import MachineConfig
from spica.kernels.commands import Host
from spica.kernels.gemm.data import operands
from spica.kernels.gemm.host.plan import Plan, plan
from spica.kernels.gemm.host.schedule import schedule
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.gemm.reference import reference
from spica.sim.golden.matrix.gemm import gemm, slab
from spica.sim.run.result_check import Check, check

__all__ = ["UnitProduct", "together", "unit_products"]

#: Bytes of DRAM for the operands and the result of each unit.
DRAM_PART = 1 << 24


@dataclass(frozen=True)
class UnitProduct:
    """A product, its operands, and the host commands that compute it on a matrix unit."""

    config: MachineConfig  # with only that unit, and its part of shared memory
    problem: GemmProblem
    a: np.ndarray
    b: np.ndarray
    commands: np.ndarray
    depth: int

    @property
    def image(self) -> list[tuple[int, np.ndarray]]:
        """Initial contents of DRAM: (address, bytes)."""
        return self.problem.image(self.a, self.b)

    def verdict(self, read) -> Check:
        """Compare C with the golden model; ``read(address, nbytes)`` returns its bytes."""
        matrix = self.config.units[0]
        assert matrix is not None
        c, touched = self.problem.result(read(*self.problem.c_region))
        expected = gemm(matrix, self.problem, self.a, self.b, self.depth)
        wide = reference(self.problem, self.a, self.b, slab(matrix, self.depth))
        return check(c, expected, *wide, form=self.problem.c_format, touched=touched)


def unit_products(
    config: MachineConfig, sizes, seed: int = 1, offset: int = 0
) -> list[UnitProduct]:
    """Return a product of (M, N, K) per matrix unit, in separate DRAM parts from `offset` on."""
    products = []
    part = 1 << (len(config.units) - 1).bit_length()
    size = config.shared.size // part
    shared = replace(config.shared, size=size, banks=max(1, config.shared.banks // part))
    for number, (m, n, k) in enumerate(sizes):
        unit = replace(config.unit(number), shared=shared)
        problem = GemmProblem.placed(m=m, n=n, k=k, operand=unit.units[0].operand, skew=number)
        start = offset + number * DRAM_PART
        places = {f"{x}_base": getattr(problem, f"{x}_base") + start for x in "abc"}
        problem = replace(problem, **places)
        steps = moved(plan(unit, problem), number * size)
        host = schedule(unit, problem, Host(unit=number), steps)
        a, b = operands(problem, "random", seed + number)
        commands = host.commands.array()
        products.append(UnitProduct(unit, problem, a, b, commands, steps.tiling.k))
    return products


def moved(steps: Plan, offset: int) -> Plan:
    """Return a plan with its slots moved by `offset` in shared memory."""
    return replace(
        steps,
        loads=[replace(load, address=load.address + offset) for load in steps.loads],
        steps=[
            replace(step, a_address=step.a_address + offset, b_address=step.b_address + offset)
            for step in steps.steps
        ],
    )


def together(products: list[UnitProduct]) -> np.ndarray:
    """Return the commands of all products, interleaved, each product's in order."""
    lists = [product.commands.tolist() for product in products]
    rows = [row for turn in zip_longest(*lists) for row in turn if row is not None]
    return np.array(rows, np.uint32)
