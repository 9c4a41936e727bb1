"""Tests of budgets: depth between registers and of float units, and cells of an element."""

from collections import Counter
from dataclasses import replace

import pytest

from spica.hw.arith.float.add import Add, AddConfig
from spica.hw.arith.float.convert import Convert, ConvertConfig
from spica.hw.arith.float.multiply import Multiply, MultiplyConfig
from spica.hw.arith.float.multiply_add import MultiplyAdd, MultiplyAddConfig
from spica.hw.arith.float.unpack import Unpack, UnpackConfig
from spica.hw.cluster.memory_masters import cluster_mux
from spica.hw.config import CoreBlockConfig, DmaBlockConfig, MatrixUnitConfig, MemoryUnitConfig
from spica.hw.config.formats import FP16
from spica.hw.config.tensor import TENSOR_NUMERICS
from spica.hw.core.core import Core
from spica.hw.emit.emitter import emit
from spica.hw.lib.axi_mux import AxiMux
from spica.hw.machine.host_control import Control, ControlConfig
from spica.hw.machine.l2_place import machine_l2
from spica.hw.machine.machine import Machine
from spica.hw.matrix.systolic.processing_element import (
    OutputStationaryProcessingElement,
    WeightStationaryProcessingElement,
)
from spica.hw.matrix.systolic.systolic_unit import SystolicUnit
from spica.hw.memory.dma.dma import Dma
from spica.hw.memory.l1.cluster_layouts import data_mshr_config
from spica.hw.memory.l1.data_cache import DataCache
from spica.hw.memory.l1.instruction_cache import InstructionCache
from spica.hw.memory.l2.l2_slice import L2Slice
from spica.hw.memory.l2.prefetcher import L2Prefetcher
from spica.hw.memory.memory_unit.coalescer import Coalescer
from spica.hw.memory.memory_unit.line_masters import LineMasters
from spica.hw.memory.memory_unit.memory_unit import MemoryUnit
from spica.hw.memory.shared.shared_memory import SharedMemory, cluster_ports
from spica.hw.presets import PRESETS
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.register_fed.fragment_staging import FragmentStaging
from spica.synth.budgets import (
    CORE_CELLS,
    DEPTH,
    ELEMENT_CELLS,
    MEMORY_CELLS,
    STAGING_NAND2,
    TENSOR_CORE_CELLS,
    UNIT_CONTROL_CELLS,
    UNIT_OPTION_NAND2,
    blocks_of,
    element_of,
    too_deep,
    with_children,
)
from spica.synth.design import design_of
from spica.synth.grouped import Pricing, total_measurement
from spica.synth.measure import BlockMeasurement, Measurement, measure
from spica.synth.memories import memory_nand2
from spica.synth.timing.paths import deepest_paths
from support.memory.shared_dispatch import SharedDispatch

MATRIX, VIRGO = PRESETS["matrix"], PRESETS["virgo"]
MEMORY_UNIT = MemoryUnitConfig.of(VIRGO)
#: Blocks between the cores of `virgo` and DRAM.
MEMORY_PARTS = {
    "coalescer": lambda: Coalescer(MEMORY_UNIT),
    "L1I": lambda: InstructionCache(MEMORY_UNIT),
    "L1D": lambda: DataCache(data_mshr_config(MEMORY_UNIT)),
    "masters of a core": lambda: LineMasters(MEMORY_UNIT),
    "path of a core": lambda: MemoryUnit(MEMORY_UNIT),
    "AXI multiplexer": lambda: AxiMux(cluster_mux(VIRGO)),
    "reading ahead of the L2": lambda: L2Prefetcher(machine_l2(VIRGO)),
    "slice of the L2": lambda: L2Slice(machine_l2(VIRGO)),
}


@pytest.mark.parametrize(
    "element", [WeightStationaryProcessingElement, OutputStationaryProcessingElement]
)
@pytest.mark.quick("Weight*")
def test_cells_and_depth_of_an_element(element):
    measured = measure(element(MultiplyAddConfig(latency=2)), "element")
    assert measured.cells <= ELEMENT_CELLS
    assert with_children(measured) == measured.cells
    assert measured.depth <= DEPTH


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("control", lambda: Control(ControlConfig.of(MATRIX))),
        ("dma", lambda: Dma(DmaBlockConfig.of(MATRIX))),
        ("shared_memory", lambda: SharedMemory(cluster_ports(MATRIX))),
    ],
)
@pytest.mark.full
def test_depth_of_the_blocks_of_matrix(name, make):
    assert too_deep(measure(make(), name)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cores", "subbanks", "narrow_ports", "depth"), [(4, 8, 2, 50), (8, 16, 1, 55), (8, 16, 2, 60)]
)
def test_depth_from_dispatch_through_shared_memory(cores, subbanks, narrow_ports, depth):
    """Grants return to the dispatch of the core in the cycle of the request."""
    core, shared = VIRGO.core, replace(VIRGO.shared, subbanks=subbanks)
    assert core is not None
    core = replace(core, shared_ports=narrow_ports)
    config = replace(VIRGO, cores=cores, core=core, shared=shared)
    (path,) = deepest_paths(design_of(SharedDispatch(config), "dispatch"), 1)
    assert path.block == "dispatch"
    assert path.depth <= depth


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["tiny_matrix", "matrix", "matrix_fp32", "virgo_fp32"])
def test_depth_of_whole_presets(preset):
    """Paths cross blocks of the cluster, so no single block shows the depth."""
    measured = measure(Machine(PRESETS[preset]), preset)
    assert too_deep(measured) == {}
    if preset.startswith("matrix"):
        assert element_of(measured).instances == PRESETS[preset].units[0].macs
        assert with_children(measured) <= ELEMENT_CELLS


@pytest.mark.slow
def test_depth_and_cells_of_a_core():
    """Paths cross blocks of the core, from results over the buses to the next issue."""
    measured = measure(Core(CoreBlockConfig.of(PRESETS["core"])), "core")
    assert too_deep(measured) == {}
    assert measured.cells <= CORE_CELLS


#: Blocks that miss their budget of cells.
ABOVE = {"slice of the L2": pytest.mark.xfail(strict=True, reason="2,044 cells")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=ABOVE.get(name, ())) for name in MEMORY_CELLS]
)
def test_depth_and_cells_between_the_cores_and_dram(name):
    measured = measure(MEMORY_PARTS[name](), "part")
    assert too_deep(measured) == {}
    assert measured.cells <= MEMORY_CELLS[name]


def core_with(numerics: str) -> CoreBlockConfig:
    """Return the core of `core` with a tensor unit of the first operand format of `numerics`."""
    config = PRESETS["core"]
    assert config.core is not None
    (operand, *_) = TENSOR_NUMERICS[numerics]
    tensor = RegisterFedConfig(numerics=numerics, operand=operand)
    core = replace(config.core, tensor=tensor)
    return CoreBlockConfig.of(replace(config, core=core))


@pytest.mark.slow
@pytest.mark.parametrize("numerics", TENSOR_CORE_CELLS)
def test_depth_and_cells_of_a_core_with_a_tensor_unit(numerics):
    measured = measure(Core(core_with(numerics)), "core")
    assert too_deep(measured) == {}
    assert measured.cells <= TENSOR_CORE_CELLS[numerics]


@pytest.mark.slow
@pytest.mark.parametrize("numerics", TENSOR_CORE_CELLS)
def test_area_of_the_fragments_of_a_core(numerics):
    """Memories of A, B and C, with the logic that writes and reads them."""
    measured = measure(FragmentStaging(core_with(numerics).core), "staging")
    memories = sum((block.memories for block in measured.blocks), Counter())
    area = measured.nand2 + sum(n * memory_nand2(shape) for shape, n in memories.items())
    assert measured.sram_bits == 2 * 3 * 8 * 8 * 32
    assert area <= STAGING_NAND2


def nand2_of(measured: Measurement) -> float:
    """Return the area of a block with its memories."""
    return total_measurement(measured, Pricing()).nand2


def unit_of_virgo(**options) -> tuple[Measurement, Measurement]:
    """Return the costs of the matrix unit of `virgo` with options, and of the DMA beside it."""
    unit = replace(VIRGO.units[0], **({"row_scale": False} | options))
    cluster = replace(VIRGO, units=(unit,))
    return (
        measure(SystolicUnit(MatrixUnitConfig.of(cluster)), "unit"),
        measure(Dma(DmaBlockConfig.of(cluster)), "dma"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("option", UNIT_OPTION_NAND2)
def test_area_and_depth_of_an_option_of_the_matrix_unit(option):
    without, whole = unit_of_virgo(), unit_of_virgo(**{option: True})
    added = sum(map(nand2_of, whole)) - sum(map(nand2_of, without))
    assert 0 < added <= UNIT_OPTION_NAND2[option]
    assert [too_deep(measured) for measured in whole] == [{}, {}]


@pytest.mark.slow
def test_area_of_the_control_of_the_matrix_unit():
    unit, _ = unit_of_virgo()
    (top,) = (block for block in blocks_of(unit, ("SystolicUnit",)) if "." not in block.name)
    assert top.cells <= UNIT_CONTROL_CELLS


@pytest.mark.slow
def test_a_core_is_a_few_megabytes():
    """A large text costs time in emission and in every tool that reads it."""
    assert len(emit(Core(CoreBlockConfig.of(PRESETS["core"])), "core").verilog) <= 3_000_000


def block(name, **fields):
    costs = {"nand2": 1.0, "flip_flops": 0, "sram_bits": 0, "depth": 1, "instances": 1}
    return BlockMeasurement(name=name, **(costs | {"cells": 1} | fields))


@pytest.mark.full
def test_what_is_too_deep_and_what_an_element_costs():
    blocks = (
        block("top", depth=DEPTH + 1),
        block("weight_stationary_processing_element_1234", instances=4, cells=10, depth=DEPTH),
        block("multiply_add_5678", instances=4, cells=80),
    )
    whole = Measurement(
        name="top",
        cells=361,
        nand2=9.0,
        flip_flops=0,
        sram_bits=0,
        depth=DEPTH + 1,
        area=None,
        blocks=blocks,
    )
    assert too_deep(whole) == {"top": DEPTH + 1}
    assert with_children(whole) == 90


@pytest.mark.parametrize(
    ("make", "name", "cells"),
    [
        (lambda: MultiplyAdd(MultiplyAddConfig(latency=2)), "multiply_add", 80),
        (
            lambda: MultiplyAdd(MultiplyAddConfig(operand="int8", accumulator="int32")),
            "multiply_add_int8",
            5,
        ),
        (lambda: Add(AddConfig(latency=2)), "add", 95),
        (lambda: Multiply(MultiplyConfig(latency=4)), "multiply", 120),
        (lambda: Multiply(MultiplyConfig(latency=5)), "multiply", 120),
        (lambda: Convert(ConvertConfig()), "convert", 30),
        (lambda: Unpack(UnpackConfig(form=FP16)), "unpack", 25),
    ],
)
@pytest.mark.quick(2)
def test_depth_and_cells(make, name, cells):
    measurement = measure(make(), name)
    assert measurement.depth <= DEPTH
    assert measurement.cells <= cells
