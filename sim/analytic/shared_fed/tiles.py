"""Tiles of C on tensor units fed by shared memory, and the loads of their steps."""

from dataclasses import dataclass

from ....hw.config import MachineConfig
from ....kernels.gemm.problem import GemmProblem
from ....kernels.gemm.shared_fed.plan import SharedFedPlan
from ..transfers import Load, load_of, phase_of

__all__ = ["SharedTile", "shared_tiles", "tile_loads"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedTile:
    """One tile of C: its first row and column."""

    row: int
    column: int


def shared_tiles(plan: SharedFedPlan, product: GemmProblem) -> list[SharedTile]:
    """Return the tiles of a product in the order of the program."""
    return [
        SharedTile(row=row, column=column)
        for row in range(0, product.m, plan.m)
        for column in range(0, product.n, plan.n)
    ]


def tile_loads(
    config: MachineConfig, plan: SharedFedPlan, product: GemmProblem, tile: SharedTile, step: int
) -> list[tuple[Load, int]]:
    """Return the loads of a step of a tile, A and then B, each with the bank that it writes.

    A part outside a matrix has its last row or column.
    """
    tensor, axi, banks = plan.tensor, config.axi, config.shared.banks
    size, k = tensor.operand_width // 8, step * tensor.depth
    depth, loads = min(tensor.depth, product.k - k), []
    part_rows = tensor.side * plan.down
    for part in range(plan.cores):
        at = min(tile.row + part * part_rows, product.m - 1)
        load = load_of(
            axi,
            dram=phase_of(axi, product.a_base + (at * product.a_pitch + k) * size),
            pitch=product.a_pitch * size,
            local_pitch=tensor.a_row_bytes,
            rows=min(part_rows, product.m - at),
            row_bytes=depth * size,
            fill_rows=part_rows,
        )
        loads.append((load, part % banks))
    for part in range(plan.across):
        at = min(tile.column + part * tensor.side, product.n - 1)
        load = load_of(
            axi,
            dram=phase_of(axi, product.b_base + (k * product.b_pitch + at) * size),
            pitch=product.b_pitch * size,
            local_pitch=tensor.b_row_bytes,
            rows=depth,
            row_bytes=min(tensor.side, product.n - at) * size,
            fill_rows=tensor.depth,
        )
        loads.append((load, part % banks))
    return loads
