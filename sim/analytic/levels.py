"""Bytes of operands and results between caches and DRAM.

The program has further ones: instructions, arguments and stacks, and lines that the L2 prefetches
in vain. They are those of a compiler, and the same for all sizes of one program but for prefetches.
"""

from ...hw.config import WORD_BYTES, MachineConfig
from ...kernels.gemm.bias import ACTIVATIONS
from ...kernels.gemm.problem import GemmProblem, ceil_div
from ...kernels.gemm.target import is_on_tensor_units
from .styles import style_of
from .work import ADDED, Levels, Traffic

__all__ = ["product_levels"]


def product_levels(
    config: MachineConfig, product: GemmProblem, traffic: Traffic, *, kernel: str
) -> Levels:
    """Return the bytes of a product between caches and DRAM, with its exact work."""
    if kernel == ADDED or kernel in ACTIVATIONS:
        return finished_levels(kernel, config, product, traffic)
    if not is_on_tensor_units(config):
        return Levels(
            dram_read_bytes=traffic.dma_read_bytes, dram_written_bytes=traffic.dma_written_bytes
        )
    operands, is_kept = style_of(config).operand_bytes(config, product), True
    if operands is None:
        operands = traffic.dma_read_bytes
    else:
        is_kept = operands <= config.l2.size
    return Levels(
        dram_read_bytes=operands if is_kept else None,
        dram_written_bytes=result_bytes(config, product),
    )


def finished_levels(
    kernel: str, config: MachineConfig, product: GemmProblem, traffic: Traffic
) -> Levels:
    """Return the bytes of a product whose cores finish C: they read lines of C, or of a bias.

    Every core has the bias in its cache. Their warps share lines of C, so those depend on time.
    """
    assert config.core is not None
    line, filled = config.core.l1d.line_bytes, None
    if kernel == ADDED:
        size = product.m * product.n * product.element_bytes("c")
        lines = ceil_div(product.c_base + size, line) - product.c_base // line
    else:
        lines = ceil_div(product.n * WORD_BYTES, line)
        filled = lines * config.cores * line
    return Levels(
        dram_read_bytes=traffic.dma_read_bytes + lines * line,
        dram_written_bytes=result_bytes(config, product),
        l1d_filled_bytes=filled,
    )


def result_bytes(config: MachineConfig, product: GemmProblem) -> int:
    """Return the bytes of C in whole beats, each of which the L2 writes back once."""
    beat = config.axi.beat_bytes
    return ceil_div(product.m * product.n * product.element_bytes("c"), beat) * beat
