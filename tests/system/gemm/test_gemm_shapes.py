"""Bit-exact tests of matrix products on machines of every shape."""

import dataclasses
import random
from dataclasses import dataclass, field

import pytest

from spica.hw.config import AxiConfig, DmaConfig, MachineConfig, SharedMemoryConfig, SystolicConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.machine.command_machine import CommandMachine
from support.cluster.gemm_bench import NARROW, GemmBench

pytestmark = pytest.mark.full

#: Optimisation of models that run for a few thousand cycles.
OPTIMIZE = 0


@dataclass(frozen=True)
class Shape:
    """An array with this many rows and columns, and changed settings around it."""

    rows: int
    columns: int
    operand: str = "fp16"
    latency: int | None = 2
    matrix: dict = field(default_factory=dict)
    shared: dict = field(default_factory=dict)
    axi: dict = field(default_factory=dict)
    dma: dict = field(default_factory=dict)
    dram: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the machine."""
        matrix = self.config.units[0]
        name = f"array_{self.rows}x{self.columns}_{self.operand}_latency{matrix.element_latency}"
        return f"{name}_os" if matrix.dataflow == "output_stationary" else name

    @property
    def config(self) -> MachineConfig:
        """Config of the machine: as small as the array allows, except for given fields."""
        rows, columns = self.rows, self.columns
        matrix = SystolicConfig(**{
            "rows": rows,
            "columns": columns,
            "operand": self.operand,
            "multiply_add_latency": self.latency,
            "tile": (2 * rows, 2 * columns, 3 * rows),
            "accumulator_bytes": max(64, 16 * rows * columns),
            **self.matrix,
        })
        widest = max(matrix.a_bytes, matrix.b_bytes, matrix.drain_bytes)
        axi = {"data_width": 8 * matrix.drain_bytes} | self.axi
        beat_bytes = axi["data_width"] // 8
        axi = {"interleave_bytes": max(64, beat_bytes)} | axi
        widest = max(widest, beat_bytes)
        shared = {"banks": 2, "subbanks": widest // 4, "size": 512 * widest} | self.shared
        return MachineConfig(
            shared=SharedMemoryConfig(**shared),
            units=(matrix,),
            axi=AxiConfig(**axi),
            dma=DmaConfig(**({"outstanding": 8} | self.dma)),
        )


#: Each parameter takes each of its kinds of values in some machine.
QUICK = (
    Shape(
        8,
        2,
        "fp16",
        3,
        matrix={"add_latency": 3},
        shared={"banks": 8, "read_latency": 3},
        axi={"masters": 4, "interleave_bytes": 256, "id_width": 1},
        dma={"queue": 3, "contexts": 4},
        dram={"stall": 0.3},
    ),
    # Elements of four bytes and of one, and C in one format and in two.
    Shape(2, 4, "fp32", None, matrix={"dataflow": "output_stationary"}),
    Shape(4, 2, "fp8_e5m2", None),
)
SWEEP = (
    Shape(2, 2, "fp16", 1, axi={"masters": 1, "data_width": 32}, shared={"banks": 1}),
    Shape(2, 2, "int8", 4, matrix={"add_latency": 4}, shared={"read_latency": 8}),
    Shape(2, 32, "fp16", 2, dram={"bytes_per_cycle": 1}),
    Shape(4, 4, "fp16", 4, matrix={"add_latency": 1}, axi={"data_width": 1024}),
    Shape(4, 4, "int8", 1, shared={"banks": 16}, dma={"contexts": 3}),
    Shape(4, 8, "int8", 3, axi={"interleave_bytes": 16}),
    Shape(8, 2, "int8", 2, shared={"subbanks": 32, "size": 16384}),
    Shape(8, 4, "fp16", 1, matrix={"accumulator_bytes": 4096, "tile": (56, 16, 40)}),
    Shape(8, 8, "fp16", 2, axi={"masters": 4, "interleave_bytes": 4096}),
    Shape(16, 4, "fp16", 4, dram={"stall": 0.5, "latency": 300}),
    Shape(4, 16, "fp16", 3, axi={"masters": 1}, shared={"banks": 64, "size": 65536}),
    Shape(16, 16, "int8", 2, matrix={"add_latency": 3}),
    Shape(8, 32, "int8", 1, axi={"data_width": 512}),
    Shape(32, 2, "fp16", 2, dram={"bytes_per_cycle": 2}),
    Shape(32, 8, "int8", 4),
    Shape(32, 32, "fp16", 2),
    Shape(32, 32, "int8", 1),
    Shape(2, 2, "fp8_e4m3", 1, shared={"read_latency": 5}),
    Shape(16, 8, "fp8_e4m3", None, dram={"stall": 0.4}),
    Shape(2, 16, "fp8_e5m2", 6, axi={"data_width": 512}),
    Shape(8, 8, "fp8_e5m2", None, axi={"masters": 4}),
    Shape(4, 8, "bf16", None, shared={"banks": 8}),
    Shape(8, 4, "bf16", 6, matrix={"add_latency": 1}),
    Shape(2, 2, "bf16", 1, dram={"stall": 0.4}),
    Shape(8, 8, "fp32", None, shared={"banks": 8}),
    Shape(4, 16, "fp32", 5, matrix={"add_latency": 4}),
    Shape(2, 2, "fp32", 1, axi={"masters": 1, "data_width": 32}),
    Shape(32, 2, "fp32", 6, dram={"bytes_per_cycle": 5}),
)


def name_of(shape):
    return shape.name


def compute(shape, count, seed, limit=50):
    """Run random products on a machine of one shape."""
    config = shape.config
    with CommandMachine(
        config, name=shape.name, memory=DramConfig(**shape.dram), optimize=OPTIMIZE
    ) as machine:
        GemmBench(machine, config).assert_many_right(count, random.Random(seed), limit)


@pytest.mark.parametrize("shape", QUICK, ids=name_of)
def test_small_machines(shape):
    compute(shape, 30, 1)


@pytest.mark.parametrize("dram", [{}, {"bytes_per_cycle": 3, "latency": 11}, {"stall": 0.4}])
def test_a_machine_with_nothing_to_spare(dram):
    with CommandMachine(
        NARROW, name="narrow", memory=DramConfig(**dram), optimize=OPTIMIZE
    ) as machine:
        GemmBench(machine, NARROW).assert_many_right(15, random.Random(1))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SWEEP, ids=name_of)
def test_machines_of_every_shape(shape):
    compute(shape, 40, 2, limit=90)


OUTPUT_STATIONARY = (
    *(QUICK[0], SWEEP[0], SWEEP[3], SWEEP[7], SWEEP[8], SWEEP[11]),
    *(shape for shape in SWEEP if shape.operand not in ("fp16", "int8")),
    Shape(2, 4, "int8", 4),
)


@pytest.mark.slow
@pytest.mark.parametrize("shape", OUTPUT_STATIONARY, ids=name_of)
def test_output_stationary_machines(shape):
    matrix = {**shape.matrix, "dataflow": "output_stationary"}
    compute(dataclasses.replace(shape, matrix=matrix), 40, 3, limit=90)
