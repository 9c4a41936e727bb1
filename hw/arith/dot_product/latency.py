"""Latency of a dot-product unit, from the datapath that its config selects."""

from .config import DotProductConfig
from .fused_sizes import FusedSizes
from .tree import tree_latency

__all__ = ["dot_product_latency"]


def dot_product_latency(config: DotProductConfig) -> int:
    """Return the cycles from the operands to the result."""
    if config.is_tree:
        return tree_latency(config)
    return sum(FusedSizes(dot=chunk).latency for chunk in config.chunk_configs)
