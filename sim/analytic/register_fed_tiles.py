"""Tiles of products on tensor units fed by registers: their rounds, loads and stores."""

from dataclasses import dataclass

from ...hw.config import ClusterConfig
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.tensor.plan import BLOCK, FRAGMENT_BYTES, TensorPlan
from . import register_fed_program as timing
from .transfers import Load, load_of

__all__ = ["Round", "program_rounds", "round_loads", "store_instructions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """One tile of operands, and its products.

    Parameters
    ----------
    row, column : int
        First row and column of C.
    steps : int
        Instructions along k.
    last : bool
        Whether the tile of C is complete after it.

    """

    row: int
    column: int
    steps: int
    last: bool


def program_rounds(plan: TensorPlan, product: GemmProblem) -> list[Round]:
    """Return the tiles of operands in the order of the program."""
    steps = -(-product.k // plan.depth)
    return [
        Round(
            row=row,
            column=column,
            steps=min(plan.steps, steps - step),
            last=step + plan.steps >= steps,
        )
        for row in range(0, product.m, plan.m)
        for column in range(0, product.n, plan.n)
        for step in range(0, steps, plan.steps)
    ]


def round_loads(
    config: ClusterConfig, plan: TensorPlan, product: GemmProblem, steps: int
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


def store_instructions(
    config: ClusterConfig, plan: TensorPlan, product: GemmProblem, tile: Round
) -> int:
    """Return the instructions of the core that executes most for the store of a tile of C.

    They are 0 if the warps store whole words. Otherwise each warp executes the instructions of 16
    registers, and the store only for registers of which a lane has an element within C.
    """
    size = product.element_bytes("c")
    is_within = tile.row + plan.m <= product.m and tile.column + plan.n <= product.n
    if is_within and (size == 4 or product.c_pitch % 2 == 0):
        return 0
    assert config.core is not None
    warps = range(config.core.warps)
    executed, stored = timing.STORE_INSTRUCTIONS[size]
    rows, columns = product.m - tile.row, product.n - tile.column

    def registers(core: int, warp: int) -> int:
        down = core + warp // plan.across * config.cores
        across = (core + warp) % plan.across
        return stored_registers(rows - BLOCK * down, columns - 2 * BLOCK * across)

    most = max(sum(registers(core, warp) for warp in warps) for core in range(config.cores))
    return len(warps) * executed + most * stored


def stored_registers(rows: int, columns: int) -> int:
    """Return the registers with elements within C, with this much of C from a warp's block on.

    Lane 0 has the least rows and columns: register q of the accumulator of even columns has row
    ``q & 2`` and column ``2 * (q & 5)``, that of odd columns the next one.
    """
    return sum(
        (q & 2) < rows and 2 * (q & 5) + odd < columns for q in range(BLOCK) for odd in range(2)
    )
