"""Exact work of ``gemm`` on tensor units fed by shared memory."""

from collections.abc import Mapping
from typing import Any

from ....hw.config import MachineConfig
from ....kernels.gemm.problem import GemmProblem
from ....kernels.gemm.shared_fed.plan import shared_fed_plan
from ....kernels.gemm.shared_fed.unit import shared_fed_unit
from ..work import Counted, Traffic
from .tiles import shared_tiles, tile_loads

__all__ = ["counted", "traffic_of"]


def traffic_of(config: MachineConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of a product on the tensor units of all cores."""
    plan = shared_fed_plan(config)
    tensor, side = plan.tensor, plan.tensor.side
    steps = -(-product.k // tensor.depth)
    beats, products = 0, [0] * plan.cores
    for tile in shared_tiles(plan, product):
        columns = min(plan.across, -(-(product.n - tile.column) // side))
        rows = -(-(product.m - tile.row) // side)
        for core in range(plan.cores):
            products[core] += min(max(rows - core * plan.down, 0), plan.down) * columns * steps
        for step in range(steps):
            loads = tile_loads(config, plan, product, tile, step)
            beats += sum(load.beats for load, _ in loads)
    return Traffic(
        active=tensor.steps * sum(products),
        shared_read_bytes={
            f"tensor{core}": 2 * tensor.operand_bytes * count for core, count in enumerate(products)
        },
        dma_read_bytes=beats * config.axi.beat_bytes,
        dma_written_bytes=0,
        products=sum(products),
    )


def counted(config: MachineConfig, result: Mapping[str, Any]) -> Counted:
    """Return what the counters of a run show of the units: reads and steps of all cores."""
    active = result["counters"]["tensor_active_cycles"]
    return Counted(
        readers=tuple(f"tensor{core}" for core in range(config.cores)),
        active=active,
        products=active // shared_fed_unit(config).steps,
    )
