"""Exact work of ``gemm`` on tensor units fed by registers."""

from collections.abc import Mapping
from typing import Any

from ....hw.config import MachineConfig
from ....kernels.gemm.problem import GemmProblem, ceil_div
from ....kernels.gemm.register_fed.plan import FRAGMENT_BYTES, register_fed_plan
from ....kernels.gemm.register_fed.unit import register_fed_unit
from ..work import Counted, Traffic
from .tiles import program_rounds, round_loads

__all__ = ["counted", "operand_bytes", "traffic_of"]


def traffic_of(config: MachineConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of a product on the tensor units of all cores.

    All warps multiply in every tile of operands, and read the fragments of both operands. Without a
    DMA the cores write each tile of operands to shared memory once, and the last one again.
    """
    plan, rounds = register_fed_plan(config), program_rounds(register_fed_plan(config), product)
    assert config.core is not None
    steps = sum(rounds)
    products = 2 * config.core.warps * config.cores * steps
    beats = tile_bytes = 0
    if config.dma is None:
        tile_bytes = (plan.down + 2 * plan.across) * plan.steps * FRAGMENT_BYTES
    else:
        beats = sum(
            load.beats for depth in rounds for load in round_loads(config, plan, product, depth)
        )
    return Traffic(
        active=register_fed_unit(config).steps * products,
        shared_read_bytes={"rows": plan.read_bytes(product.m, product.n, product.k)},
        shared_written_bytes={"rows": (len(rounds) + 1) * tile_bytes},
        dma_read_bytes=beats * config.axi.beat_bytes,
        dma_written_bytes=0,
        products=products,
    )


def counted(config: MachineConfig, result: Mapping[str, Any]) -> Counted:
    """Return what the counters of a run show of the units: instructions of the cores."""
    products = sum(core["counters"]["operations_tensor"] for core in result["cores"])
    return Counted(
        readers=("rows",),
        writers=("rows",),
        active=products * register_fed_unit(config).steps,
        products=products,
    )


def operand_bytes(config: MachineConfig, product: GemmProblem) -> int | None:
    """Return the bytes of A and B as arranged: whole tiles of C, and whole steps along k."""
    if config.dma is not None:
        return None
    plan = register_fed_plan(config)
    down = ceil_div(product.m, plan.m) * plan.down
    across = ceil_div(product.n, plan.n) * 2 * plan.across
    return (down + across) * ceil_div(product.k, plan.depth) * FRAGMENT_BYTES
