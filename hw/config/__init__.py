"""Configurations: frozen, keyword-only, checked when built; derived sizes are properties."""

from .cluster import ClusterConfig
from .core import CoreConfig
from .matrix import MatrixConfig
from .memory import WORD_BYTES, AxiConfig, DmaConfig, SharedMemoryConfig
from .presets import PRESETS

__all__ = [
    "PRESETS",
    "WORD_BYTES",
    "AxiConfig",
    "ClusterConfig",
    "CoreConfig",
    "DmaConfig",
    "MatrixConfig",
    "SharedMemoryConfig",
]
