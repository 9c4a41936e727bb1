"""Configurations: frozen, keyword-only, checked when built; derived sizes are properties."""

from .arrays import ARRAYS
from .blocks import (
    ClusterBarrierConfig,
    CoreAccessConfig,
    CoreBlockConfig,
    DmaBlockConfig,
    HgmmaUnitConfig,
    MatrixUnitConfig,
    MemoryUnitConfig,
    RunControlConfig,
    UnitRegisterBusConfig,
)
from .cache import CacheConfig
from .cluster import MOST_UNITS, ClusterConfig
from .core import CoreConfig, PipelineConfig
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
    "ClusterBarrierConfig",
    "ClusterConfig",
    "CoreAccessConfig",
    "CoreBlockConfig",
    "CoreConfig",
    "DmaBlockConfig",
    "DmaConfig",
    "HgmmaUnitConfig",
    "L2Config",
    "MatrixUnitConfig",
    "MemoryUnitConfig",
    "PipelineConfig",
    "RunControlConfig",
    "SharedMemoryConfig",
    "SharedPortConfig",
    "SystolicConfig",
    "UnitConfig",
    "UnitRegisterBusConfig",
]
