"""Configurations: frozen, keyword-only, checked when built; derived sizes are properties."""

from .arrays import ARRAYS
from .blocks import (
    ClusterBarrierConfig,
    CoreAccessConfig,
    CoreBlockConfig,
    DmaBlockConfig,
    MatrixUnitConfig,
    MemoryUnitConfig,
    ProgressConfig,
    RunControlConfig,
    TensorBlockConfig,
    UnitRegisterBusConfig,
)
from .cache import CacheConfig
from .cluster import MOST_UNITS, ClusterConfig
from .cluster_network import ClusterNetworkConfig
from .core import CoreConfig, PipelineConfig
from .l2 import L2Config
from .machine import MachineConfig
from .memory import (
    WORD_BYTES,
    AxiConfig,
    DmaConfig,
    SharedAtomicsConfig,
    SharedMemoryConfig,
    SharedPortConfig,
)
from .systolic import SystolicConfig
from .tensor import TensorUnitConfig
from .unit import UnitConfig

__all__ = [
    "ARRAYS",
    "MOST_UNITS",
    "WORD_BYTES",
    "AxiConfig",
    "CacheConfig",
    "ClusterBarrierConfig",
    "ClusterConfig",
    "ClusterNetworkConfig",
    "CoreAccessConfig",
    "CoreBlockConfig",
    "CoreConfig",
    "DmaBlockConfig",
    "DmaConfig",
    "L2Config",
    "MachineConfig",
    "MatrixUnitConfig",
    "MemoryUnitConfig",
    "PipelineConfig",
    "ProgressConfig",
    "RunControlConfig",
    "SharedAtomicsConfig",
    "SharedMemoryConfig",
    "SharedPortConfig",
    "SystolicConfig",
    "TensorBlockConfig",
    "TensorUnitConfig",
    "UnitConfig",
    "UnitRegisterBusConfig",
]
