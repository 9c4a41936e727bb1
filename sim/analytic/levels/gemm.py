"""Bytes of products between caches and DRAM."""

from ....hw.config import PRESETS, ClusterConfig
from ....kernels.gemm.plan import ceil_div
from ....kernels.gemm.problem import GemmProblem
from ....kernels.gemm.target import is_on_tensor_units
from ....kernels.gemm.tensor.plan import FRAGMENT_BYTES, tensor_plan
from ..program_steps import program_steps
from ..work import PAIR, Levels, Traffic
from . import program
from .program import ProgramBytes
from .read_lines import added_lines, bias_lines

__all__ = ["product_levels"]


def product_levels(
    config: ClusterConfig, product: GemmProblem, traffic: Traffic, *, kernel: str
) -> Levels | None:
    """Return the bytes of a product between caches and DRAM, with its exact work.

    None if those of its program were not measured.
    """
    if kernel in program.FINISHED:
        return finished_levels(kernel, config, product, traffic)
    own = program_of(config)
    if own is None:
        return None
    if kernel == PAIR:
        own = program.PAIR
    if not is_on_tensor_units(config):
        return Levels(
            dram_read_bytes=traffic.dma_read_bytes + own.read,
            dram_written_bytes=traffic.dma_written_bytes + own.written,
            l1d_filled_bytes=own.filled,
        )
    operands, is_kept = traffic.dma_read_bytes, True
    if config.dma is None:
        operands = panel_bytes(config, product)
        is_kept = operands <= config.l2.size
    return Levels(
        dram_read_bytes=operands + own.read if is_kept else None,
        dram_written_bytes=result_bytes(config, product) + own.written,
    )


def program_of(config: ClusterConfig) -> ProgramBytes | None:
    """Return the bytes of ``gemm`` on the cores and the caches of a machine."""
    known = program.PRODUCT.items()
    return next((own for name, own in known if parts(PRESETS[name]) == parts(config)), None)


def parts(config: ClusterConfig) -> tuple:
    """Return the parts of a machine on which the bytes of a program depend."""
    return config.cores, config.core, config.l2, config.dma is None


def finished_levels(
    kernel: str, config: ClusterConfig, product: GemmProblem, traffic: Traffic
) -> Levels:
    """Return the bytes of a product whose cores finish C."""
    assert config.core is not None
    own, line = program.FINISHED[kernel], config.core.l1d.line_bytes
    if kernel == program.ADDED:
        steps = list(program_steps(config, product, is_finished=True))
        lines = added_lines(config, product, steps)
    else:
        lines = bias_lines(config, product)
    assert own.filled is not None
    return Levels(
        dram_read_bytes=traffic.dma_read_bytes + own.read + (lines.all + lines.prefetched) * line,
        dram_written_bytes=result_bytes(config, product) + own.written,
        l1d_filled_bytes=own.filled + lines.filled * line,
    )


def result_bytes(config: ClusterConfig, product: GemmProblem) -> int:
    """Return the bytes of C in whole beats, each of which the L2 writes back once."""
    beat = config.axi.beat_bytes
    return ceil_div(product.m * product.n * product.element_bytes("c"), beat) * beat


def panel_bytes(config: ClusterConfig, product: GemmProblem) -> int:
    """Return the bytes of A and B as arranged: whole tiles of C, and whole steps along k."""
    plan = tensor_plan(config)
    down = ceil_div(product.m, plan.m) * plan.down
    across = ceil_div(product.n, plan.n) * 2 * plan.across
    return (down + across) * ceil_div(product.k, plan.depth) * FRAGMENT_BYTES
