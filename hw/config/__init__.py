"""Configurations: frozen, keyword-only, checked when built; derived sizes are properties."""

from .arrays import ARRAYS
from .blocks import CoreMemoryConfig, DmaBlockConfig, MatrixUnitConfig, MemoryUnitConfig
from .cache import CacheConfig
from .cluster import MOST_UNITS, ClusterConfig
from .core import CoreConfig
from .l2 import L2Config
from .memory import WORD_BYTES, AxiConfig, DmaConfig, SharedMemoryConfig, SharedPortConfig
from .presets import PRESETS
from .systolic import SystolicConfig
from .unit import UnitConfig

__all__ = [
    "ARRAYS",
    "MOST_UNITS",
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
    "MatrixUnitConfig",
    "MemoryUnitConfig",
    "SharedMemoryConfig",
    "SharedPortConfig",
    "SystolicConfig",
    "UnitConfig",
]
