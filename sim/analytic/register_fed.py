"""Analytic model of ``gemm`` on tensor units fed by registers."""

from ...hw.base.errors import UserError
from ...hw.config import PRESETS, ClusterConfig
from ...kernels.gemm.problem import GemmProblem
from ...kernels.gemm.target import tensor_unit
from ...kernels.gemm.tensor.plan import FRAGMENT_BYTES, tensor_plan
from ..harness.dram import DramConfig
from .register_fed_program import PROGRAMS, ProgramCycles
from .register_fed_tiles import program_rounds, round_loads
from .register_fed_timeline import RegisterFedTimeline
from .work import WHAT, Traffic

__all__ = ["terms_of", "traffic_of"]

#: Least bytes per cycle and most latency of DRAM for which errors of cycles are within 10 %, with a
#: DMA and without (128 x 128 x 128, 8 to 64 bytes per cycle, latencies of 20 to 400 cycles).
MEMORY = {True: (16, 400), False: (32, 200)}


def traffic_of(config: ClusterConfig, product: GemmProblem) -> Traffic:
    """Return the exact work of a product on the tensor units of all cores.

    All warps multiply in every tile of operands, and read the fragments of both operands. Without a
    DMA the cores write each tile of operands to shared memory once, and the last one again.
    """
    program_of(config)
    plan, rounds = tensor_plan(config), program_rounds(tensor_plan(config), product)
    assert config.core is not None
    steps = sum(round_.steps for round_ in rounds)
    products = 2 * config.core.warps * config.cores * steps
    beats = tile_bytes = 0
    if config.dma is None:
        tile_bytes = (plan.down + 2 * plan.across) * plan.steps * FRAGMENT_BYTES
    else:
        beats = sum(
            load.beats
            for round_ in rounds
            for load in round_loads(config, plan, product, round_.steps)
        )
    return Traffic(
        active=tensor_unit(config).steps * products,
        shared_read_bytes={"rows": plan.read_bytes(product.m, product.n, product.k)},
        shared_written_bytes={"rows": (len(rounds) + 1) * tile_bytes},
        dma_read_bytes=beats * config.axi.beat_bytes,
        dma_written_bytes=0,
        products=products,
    )


def terms_of(config: ClusterConfig, product: GemmProblem, memory: DramConfig) -> dict[str, int]:
    """Return the predicted cycles by term of `register_fed_timeline.TERMS`."""
    bandwidth, latency = MEMORY[config.dma is not None]
    if memory.bytes_per_cycle < bandwidth or memory.latency > latency:
        raise UserError(
            f"{WHAT} on these tensor units needs DRAM of {bandwidth} bytes per cycle or more and "
            f"latency {latency} or less, not {memory.bytes_per_cycle} and {memory.latency}"
        )
    return RegisterFedTimeline(config, program_of(config), product, memory).run()


def program_of(config: ClusterConfig) -> ProgramCycles:
    """Return the cycles of the program on a machine; raise `UserError` if none were measured."""
    for name, program in PROGRAMS.items():
        preset = PRESETS[name]
        measured = (preset.cores, preset.core, preset.shared, preset.dma is None)
        if measured == (config.cores, config.core, config.shared, config.dma is None):
            return program
    raise UserError(
        f"{WHAT} on tensor units fed by registers has cycles of the program only for the cores and "
        f"the shared memory of {', '.join(f'`{name}`' for name in PROGRAMS)}"
    )
