"""Latency of a dot-product unit, from the datapath that its config selects."""

from .config import DotProductConfig
from .fused_sizes import FusedSizes
from .tree import tree_latency
from .tree_add import TreeAddConfig

__all__ = ["addition", "dot_product_latency", "sum_latency"]


def dot_product_latency(config: DotProductConfig) -> int:
    """Return the cycles from the operands to the result."""
    if config.is_tree:
        return tree_latency(config)
    if not config.fused.separate_addend:
        return sum_latency(config)
    additions = config.chunks // config.chunks_per_addend
    return sum_latency(config) + additions * addition(config).latency


def sum_latency(config: DotProductConfig) -> int:
    """Return the cycles of the chained fused sums, up to the addition of a separate addend."""
    chunks = config.chunk_configs[: config.chunks_per_addend]
    return sum(FusedSizes(dot=chunk).latency for chunk in chunks)


def addition(config: DotProductConfig) -> TreeAddConfig:
    """Return the adder of a separate addend: FP16 in one cycle, FP32 in two."""
    return TreeAddConfig(form=config.result_format, latency=1 if config.result == "fp16" else 2)
