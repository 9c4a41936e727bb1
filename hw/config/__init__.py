"""Configurations: frozen, keyword-only, checked when built; derived sizes are properties."""

from .arrays import ARRAYS
from .blocks import CoreMemoryConfig, DmaBlockConfig, MatrixUnitConfig, MemoryUnitConfig
from .cache import CacheConfig
from .cluster import MOST_MATRICES, ClusterConfig
from .core import CoreConfig
from .l2 import L2Config
from .matrix import MatrixConfig
from .memory import WORD_BYTES, AxiConfig, DmaConfig, SharedMemoryConfig, SharedPortConfig
from .presets import PRESETS

__all__ = [
    "ARRAYS",
    "MOST_MATRICES",
    "PRESETS",
    "WORD_BYTES",
    "AxiConfig",
    "CacheConfig",
    "ClusterConfig",
    "CoreConfig",
    "CoreMemoryConfig",
    "DmaBlockConfig",
    "DmaConfig",
    "L2Config",
    "MatrixConfig",
    "MatrixUnitConfig",
    "MemoryUnitConfig",
    "SharedMemoryConfig",
    "SharedPortConfig",
]
