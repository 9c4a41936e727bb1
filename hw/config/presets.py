"""The machines that have a name."""

from dataclasses import replace

from .cluster import ClusterConfig
from .core import CoreConfig
from .matrix import MatrixConfig
from .memory import AxiConfig, DmaConfig, SharedMemoryConfig

__all__ = ["PRESETS"]

TINY_MATRIX = ClusterConfig(
    shared=SharedMemoryConfig(size=16 * 1024, banks=2, subbanks=4),
    matrix=MatrixConfig(rows=4, columns=4, accumulator_bytes=2048, tile=(32, 16, 32)),
    axi=AxiConfig(data_width=128),
    dma=DmaConfig(outstanding=16),
)

PRESETS: dict[str, ClusterConfig] = {
    "tiny_matrix": TINY_MATRIX,
    "matrix": ClusterConfig(),
    "matrix_fp32": ClusterConfig(
        shared=SharedMemoryConfig(size=256 * 1024, banks=8),
        matrix=MatrixConfig(
            rows=8, columns=8, operand="fp32", accumulator_bytes=16 * 1024, tile=(64, 64, 64)
        ),
    ),
    "tiny": replace(TINY_MATRIX, cores=1, core=CoreConfig(warps=4, threads=4)),
    "core": ClusterConfig(
        cores=1, core=CoreConfig(), shared=SharedMemoryConfig(size=16 * 1024), matrix=None
    ),
    # A port for every lane of four cores would make shared memory 81 gates deep.
    "virgo": ClusterConfig(cores=4, core=CoreConfig(shared_ports=2)),
}
