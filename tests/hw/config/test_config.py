"""Tests of `hw.config`: messages of every rule, and derived sizes."""

import re
from dataclasses import FrozenInstanceError, replace

import pytest

from spica.hw.config import (
    AxiConfig,
    CoreConfig,
    DmaConfig,
    L2Config,
    MachineConfig,
    SharedMemoryConfig,
    SystolicConfig,
)
from spica.hw.config.arithmetic import ARITHMETIC
from spica.hw.presets import PRESETS

SHARED, MATRIX, AXI, DMA = SharedMemoryConfig, SystolicConfig, AxiConfig, DmaConfig

REFUSED = [
    (SHARED, {"size": 100}, "size must be a power of two, not 100"),
    (SHARED, {"size": 8}, "size must be between 16 and 16777216, not 8"),
    (SHARED, {"size": 1 << 25}, "size must be between 16 and 16777216, not 33554432"),
    (SHARED, {"banks": 3}, "banks must be a power of two, not 3"),
    (SHARED, {"banks": 0}, "banks must be between 1 and 64, not 0"),
    (SHARED, {"subbanks": 6}, "subbanks must be a power of two, not 6"),
    (SHARED, {"subbanks": 128}, "subbanks must be between 1 and 64, not 128"),
    (SHARED, {"read_latency": 0}, "read_latency must be between 1 and 8, not 0"),
    (SHARED, {"narrow_ports": -1}, "narrow_ports must be between 0 and 256, not -1"),
    (
        SHARED,
        {"size": 64, "banks": 4, "subbanks": 8},
        "size must give each bank 2 lines or more: 4 banks x 8 subbanks x 4 bytes x 2 = 256 "
        "bytes, not 64",
    ),
    (MATRIX, {"rows": 3}, "rows must be a power of two, not 3"),
    (MATRIX, {"rows": 64}, "rows must be between 2 and 32, not 64"),
    (MATRIX, {"columns": 1}, "columns must be between 2 and 32, not 1"),
    (MATRIX, {"columns": 12}, "columns must be a power of two, not 12"),
    (
        MATRIX,
        {"dataflow": "sideways"},
        "dataflow must be one of weight_stationary, output_stationary, not 'sideways'",
    ),
    (
        MATRIX,
        {"operand": "fp8"},
        "operand must be one of fp16, bf16, fp8_e4m3, fp8_e5m2, fp32, int8, not 'fp8'",
    ),
    (MATRIX, {"multiply_add_latency": 0}, "multiply_add_latency must be between 1 and 6, not 0"),
    (MATRIX, {"multiply_add_latency": 7}, "multiply_add_latency must be between 1 and 6, not 7"),
    (MATRIX, {"add_latency": 5}, "add_latency must be between 1 and 4, not 5"),
    (MATRIX, {"accumulator_bytes": 96}, "accumulator_bytes must be a power of two, not 96"),
    (MATRIX, {"accumulator_bytes": 32}, "accumulator_bytes must be between 64 and 1048576, not 32"),
    (MATRIX, {"cisc_map": "new"}, "cisc_map must be one of current, legacy, not 'new'"),
    (MATRIX, {"tile": (120, 64, 128)}, "tile M must be a positive multiple of 16, not 120"),
    (MATRIX, {"tile": (128, 0, 128)}, "tile N must be a positive multiple of 16, not 0"),
    (MATRIX, {"tile": (128, 64, 8)}, "tile K must be a positive multiple of 16, not 8"),
    (
        MATRIX,
        {"tile": (128, 128, 128)},
        "tile must fit the accumulator: 128 x 128 x 4 bytes = 65536, not more than 32768",
    ),
    (AXI, {"masters": 3}, "masters must be a power of two, not 3"),
    (AXI, {"masters": 8}, "masters must be between 1 and 4, not 8"),
    (AXI, {"data_width": 48}, "data_width must be a power of two, not 48"),
    (AXI, {"data_width": 16}, "data_width must be between 32 and 1024, not 16"),
    (AXI, {"id_width": 0}, "id_width must be between 1 and 16, not 0"),
    (AXI, {"interleave_bytes": 16}, "interleave_bytes must be between 32 and 4096, not 16"),
    (AXI, {"interleave_bytes": 96}, "interleave_bytes must be a power of two, not 96"),
    (DMA, {"queue": 0}, "queue must be between 1 and 16, not 0"),
    (DMA, {"contexts": 5}, "contexts must be between 1 and 4, not 5"),
    (DMA, {"outstanding": 48}, "outstanding must be a power of two, not 48"),
    (DMA, {"outstanding": 1}, "outstanding must be between 2 and 256, not 1"),
    (
        MachineConfig,
        {"dma": None},
        "dma must not be none with matrix units, which load and store through it",
    ),
    (
        MachineConfig,
        {"dma": None, "units": ()},
        "dma must not be none without cores: nothing else accesses DRAM",
    ),
    (
        MachineConfig,
        {"axi": AxiConfig(data_width=512)},
        "axi.data_width must not exceed a line of shared memory, 8 subbanks x 32 = 256 bits, "
        "not 512",
    ),
    (
        MachineConfig,
        {"axi": AxiConfig(data_width=128)},
        "axi.data_width must be at least 256 bits, a beat of results of a matrix unit, not 128",
    ),
    (
        MachineConfig,
        {"units": (SystolicConfig(load_d=True, accumulator_bytes=1 << 18),)},
        "shared.size must be at least the accumulator of a matrix unit with load_d, whose "
        "addresses it limits, 262144 bytes, not 131072",
    ),
    (
        MachineConfig,
        {"units": (SystolicConfig(rows=32),)},
        "shared.subbanks must be at least 16, so that a line of 4-byte words holds a read of A, "
        "64 bytes, not 8",
    ),
    (
        MachineConfig,
        {"units": (SystolicConfig(columns=32),)},
        "shared.subbanks must be at least 16, so that a line of 4-byte words holds a read of B, "
        "64 bytes, not 8",
    ),
    (
        MachineConfig,
        {"units": (SystolicConfig(operand="fp32"),)},
        "shared.subbanks must be at least 16, so that a line of 4-byte words holds a read of A, "
        "64 bytes, not 8",
    ),
    (
        MachineConfig,
        {"clusters": 2},
        "clusters must be 1 without cores, as a host drives one, not 2",
    ),
    (
        MachineConfig,
        {"clusters": 8, "cores": 5, "core": CoreConfig()},
        "clusters must be at most 6 with 5 cores in each, 32 in all, not 8",
    ),
    (
        MachineConfig,
        {"clusters": 5, "cores": 1, "core": CoreConfig(), "units": (SystolicConfig(),) * 4},
        "clusters must be at most 4 with 4 units in each, 16 in all, not 5",
    ),
    (
        MachineConfig,
        {"cores": 1, "core": CoreConfig(), "l2": L2Config(line_bytes=128)},
        "l2.line_bytes must be axi.interleave_bytes with cores, the longest burst, 64, not 128",
    ),
    (
        MachineConfig,
        {"cores": 2, "core": CoreConfig(), "l2": L2Config(no_allocate_sources=(0, 3))},
        "each of l2.no_allocate_sources must be at most 2, where 0 is the DMA and others are "
        "cores, not 3",
    ),
]


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    REFUSED,
    ids=[
        f"{kind.__name__}-{'-'.join(parameters)}-{n}"
        for n, (kind, parameters, _) in enumerate(REFUSED)
    ],
)
def test_a_value_out_of_range_is_refused(kind, parameters, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        kind(**parameters)


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        *[(SHARED, name) for name in ("size", "banks", "subbanks", "read_latency", "narrow_ports")],
        *[(MATRIX, name) for name in ("rows", "columns", "add_latency")],
        (MATRIX, "accumulator_bytes"),
        *[(AXI, name) for name in ("masters", "data_width", "id_width", "interleave_bytes")],
        *[(DMA, name) for name in ("queue", "contexts", "outstanding")],
    ],
)
@pytest.mark.parametrize("value", [4.0, "4", None, True])
def test_a_value_of_the_wrong_kind_is_refused(kind, field, value):
    with pytest.raises(TypeError, match=re.escape(f"{field} must be an integer, not {value!r}")):
        kind(**{field: value})


@pytest.mark.parametrize("value", [4.0, "4", True])
def test_a_latency_of_the_wrong_kind_is_refused(value):
    message = re.escape(f"multiply_add_latency must be an integer, not {value!r}")
    with pytest.raises(TypeError, match=message):
        MATRIX(multiply_add_latency=value)


def test_configurations_are_keyword_only_and_frozen():
    with pytest.raises(TypeError):
        SharedMemoryConfig(1024)  # pyright: ignore[reportCallIssue] # the point of the test
    with pytest.raises(FrozenInstanceError):
        setattr(PRESETS["matrix"], "units", ())  # noqa: B010  # plain code would not type-check


def test_derived_sizes_of_matrix():
    cluster = PRESETS["matrix"]
    matrix = cluster.units[0]
    assert matrix is not None
    assert (cluster.shared.line_bytes, cluster.shared.lines) == (32, 1024)
    assert cluster.shared.address_width == 17
    assert (matrix.macs, matrix.operand_bytes) == (256, 2)
    assert (matrix.a_bytes, matrix.b_bytes, matrix.drain_bytes) == (32, 32, 32)
    assert (matrix.operand_format.name, matrix.accumulator_format.name) == ("fp16", "fp32")
    assert (matrix.accumulator_rows, matrix.accumulator_address_width) == (512, 9)
    assert (cluster.axi.beat_bytes, cluster.axi.burst_beats) == (32, 2)


def test_derived_sizes_of_matrix_fp32():
    cluster = PRESETS["matrix_fp32"]
    matrix = cluster.units[0]
    assert matrix is not None
    assert (matrix.macs, matrix.operand_bytes, matrix.narrows) == (64, 4, False)
    assert (matrix.a_bytes, matrix.b_bytes, matrix.drain_bytes) == (32, 32, 16)
    assert (cluster.shared.line_bytes, cluster.shared.lines) == (32, 1024)
    m, n, _ = matrix.tile
    assert matrix.accumulator_rows * matrix.columns == m * n


def test_virgo_fp32_has_the_cores_of_virgo_and_the_unit_of_matrix_fp32():
    cluster, cores, matrix = (PRESETS[name] for name in ("virgo_fp32", "virgo", "matrix_fp32"))
    assert (cluster.cores, cluster.core, cluster.l2) == (cores.cores, cores.core, cores.l2)
    units = tuple(replace(unit, row_scale=True) for unit in matrix.units)
    assert (cluster.units, cluster.shared) == (units, matrix.shared)


@pytest.mark.parametrize(
    ("operand", "size", "accumulator", "narrow", "scales"),
    [
        ("fp16", 2, "fp32", "fp16", True),
        ("bf16", 2, "fp32", "bf16", True),
        ("fp8_e4m3", 1, "fp32", "fp16", True),
        ("fp8_e5m2", 1, "fp32", "fp16", True),
        ("fp32", 4, "fp32", "fp32", True),
        ("int8", 1, "int32", "int32", False),
    ],
)
def test_formats_follow_from_the_operands(operand, size, accumulator, narrow, scales):
    matrix = SystolicConfig(operand=operand)
    assert (matrix.operand_bytes, matrix.a_bytes, matrix.b_bytes) == (size, 16 * size, 16 * size)
    assert (matrix.accumulator_format.name, matrix.narrow_format.name) == (accumulator, narrow)
    assert matrix.narrows == (accumulator != narrow)
    assert (matrix.wide_bytes, matrix.narrow_bytes) == (4, 2 if matrix.narrows else 4)
    assert matrix.scales == scales
    assert not SystolicConfig(operand=operand, read_scale=False).scales
    assert ARITHMETIC[operand].c_formats == ((narrow, accumulator) if matrix.narrows else (narrow,))


def test_a_latency_follows_from_the_operands_or_is_given():
    assert SystolicConfig().element_latency == ARITHMETIC["fp16"].latency == 2
    assert SystolicConfig(operand="fp32").element_latency == ARITHMETIC["fp32"].latency
    assert SystolicConfig(multiply_add_latency=4).element_latency == 4
    shared = SharedMemoryConfig(subbanks=16)
    cluster = MachineConfig(shared=shared, units=(SystolicConfig(operand="fp32"),))
    assert cluster.resolved.units[0].multiply_add_latency == ARITHMETIC["fp32"].latency
    assert cluster.resolved.resolved == cluster.resolved
    assert MachineConfig(units=()).resolved == MachineConfig(units=())


def test_narrow_operands_still_take_a_word():
    matrix = SystolicConfig(rows=2, columns=2, operand="int8", tile=(4, 4, 4))
    assert (matrix.operand_bytes, matrix.a_bytes, matrix.b_bytes) == (1, 4, 4)
    assert matrix.accumulator_format.name == "int32"


def test_the_smallest_configurations_are_accepted():
    one = SharedMemoryConfig(size=16, banks=1, subbanks=1, read_latency=1)
    assert (one.line_bytes, one.lines, one.address_width) == (4, 4, 4)
    axi = AxiConfig(masters=1, data_width=32, interleave_bytes=4)
    cluster = MachineConfig(
        shared=one, units=(), axi=axi, dma=DmaConfig(queue=1, contexts=1, outstanding=2)
    )
    assert cluster.axi.burst_beats == 1
    assert replace(cluster, shared=replace(one, banks=2)).shared.lines == 2
