"""Tiles of products on tensor units fed by registers: their rounds and loads."""

from ....hw.config import MachineConfig
from ....kernels.gemm.problem import GemmProblem
from ....kernels.gemm.register_fed.plan import FRAGMENT_BYTES, RegisterFedPlan
from ..transfers import Load, load_of

__all__ = ["program_rounds", "round_loads"]


def program_rounds(plan: RegisterFedPlan, product: GemmProblem) -> list[int]:
    """Return the instructions along k of each tile of operands, in the order of the program."""
    steps = -(-product.k // plan.depth)
    tiles = -(-product.m // plan.m) * -(-product.n // plan.n)
    return tiles * [min(plan.steps, steps - step) for step in range(0, steps, plan.steps)]


def round_loads(
    config: MachineConfig, plan: RegisterFedPlan, product: GemmProblem, steps: int
) -> list[Load]:
    """Return the loads of a tile of operands, A and then B: a panel for each bank at a time.

    Panels are dense in DRAM and begin at fragments, so the work does not depend on the place.
    """
    banks, axi = config.shared.banks, config.axi
    pitch = -(-product.k // plan.depth) * FRAGMENT_BYTES
    return [
        load_of(
            axi,
            dram=0,
            pitch=pitch,
            local_pitch=steps * FRAGMENT_BYTES,
            rows=min(banks, panels - first),
            row_bytes=steps * FRAGMENT_BYTES,
            fill_rows=min(banks, panels - first),
        )
        for panels in (plan.down, 2 * plan.across)
        for first in range(0, panels, banks)
    ]
