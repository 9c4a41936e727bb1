"""Named machines."""

from dataclasses import replace

from ..config import (
    AxiConfig,
    CacheConfig,
    CoreConfig,
    DmaConfig,
    L2Config,
    MachineConfig,
    SharedMemoryConfig,
    SystolicConfig,
)
from ..styles.register_fed.config import RegisterFedConfig
from ..styles.shared_fed.config import SharedFedConfig

__all__ = ["PRESETS"]

TINY_MATRIX = MachineConfig(
    shared=SharedMemoryConfig(size=16 * 1024, banks=2, subbanks=4),
    units=(SystolicConfig(rows=4, columns=4, accumulator_bytes=2048, tile=(32, 16, 32)),),
    axi=AxiConfig(data_width=128),
    dma=DmaConfig(outstanding=16),
)

VIRGO = MachineConfig(
    cores=4, core=CoreConfig(shared_ports=2), units=(SystolicConfig(row_scale=True),)
)

FP32_UNIT = SystolicConfig(
    rows=8, columns=8, operand="fp32", accumulator_bytes=16 * 1024, tile=(64, 64, 64)
)

#: Shared memory and unit for FP32 operands.
MATRIX_FP32 = MachineConfig(shared=SharedMemoryConfig(size=256 * 1024, banks=8), units=(FP32_UNIT,))

#: A core that multiplies fragments in its registers.
TENSOR_CORE = CoreConfig(tensor=RegisterFedConfig(), shared_ports=1)

#: Products in the cores. A row port delivers a register per cycle, and 16 subbanks two rows per
#: bank.
AMPERE = MachineConfig(
    cores=8,
    core=TENSOR_CORE,
    shared=SharedMemoryConfig(subbanks=16),
    units=(),
)

#: The same for FP32 operands, with the multiply-adds and shared memory of `virgo_fp32`.
AMPERE_FP32 = replace(
    AMPERE,
    cores=4,
    core=replace(TENSOR_CORE, tensor=RegisterFedConfig(numerics="fp32_rne", operand="fp32")),
    shared=replace(AMPERE.shared, size=MATRIX_FP32.shared.size),
)

#: Products in the cores with operands in shared memory: each unit reads half a line per cycle.
HOPPER = MachineConfig(
    cores=4,
    core=CoreConfig(tensor=SharedFedConfig(), shared_ports=1),
    units=(),
)

#: A small unit for products that would leave a tile of the larger one half empty.
SMALL_MATRIX = SystolicConfig(rows=8, columns=8, accumulator_bytes=16 * 1024, tile=(64, 32, 128))

PRESETS: dict[str, MachineConfig] = {
    "tiny_matrix": TINY_MATRIX,
    "tiny_hetero": replace(
        TINY_MATRIX,
        units=(
            *TINY_MATRIX.units,
            SystolicConfig(
                rows=2, columns=2, operand="bf16", accumulator_bytes=1024, tile=(16, 8, 16)
            ),
        ),
    ),
    "matrix": MachineConfig(),
    "matrix_fp32": MATRIX_FP32,
    "tiny": replace(
        TINY_MATRIX,
        cores=1,
        core=CoreConfig(
            warps=4,
            threads=4,
            l1i=CacheConfig(size=1024, mshrs=6, prefetch=4),
            l1d=CacheConfig(size=1024, mshrs=4, prefetch=0),
        ),
        l2=L2Config(size=4096, ways=4, mshrs=8, write_backs=8, prefetch=4),
    ),
    "core": MachineConfig(
        cores=1, core=CoreConfig(), shared=SharedMemoryConfig(size=16 * 1024), units=()
    ),
    "virgo": VIRGO,
    "virgo_fp32": replace(
        VIRGO,
        shared=MATRIX_FP32.shared,
        units=(replace(FP32_UNIT, row_scale=True),),
    ),
    "virgo_hetero": replace(VIRGO, units=(*VIRGO.units, SMALL_MATRIX)),
    "ampere": AMPERE,
    "ampere_fp32": AMPERE_FP32,
    "volta": replace(AMPERE, dma=None),
    "hopper": HOPPER,
}
