"""Tests of the matrix unit from register writes to results, against the golden numerics."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.config import PRESETS, MatrixUnitConfig
from spica.hw.isa.commands import (
    ConfigKind,
    Function,
    bounds_pads,
    bounds_sizes,
    config_store,
    config_store_scale,
    encode,
    encode_cisc,
    loop_control,
    loop_parts,
    rocc_word,
)
from spica.hw.isa.memory_map import MATRIX
from spica.hw.matrix.systolic.systolic_unit import SystolicUnit
from spica.kernels.elements import dtype_of
from spica.kernels.gemm.data import operands as gemm_operands
from spica.kernels.gemm.problem import GemmProblem
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.matrix.systolic.systolic import read_out, systolic_os, systolic_ws
from support.matrix.systolic_unit_bench import WAIT, MatrixHost

FP16 = MatrixUnitConfig.of(PRESETS["tiny_matrix"])
INT8 = replace(FP16, matrix=replace(FP16.matrix, operand="int8", read_scale=False))
OBLONG = replace(FP16, matrix=replace(FP16.matrix, rows=2, columns=8, multiply_add_latency=1))
STAYS = replace(FP16, matrix=replace(FP16.matrix, rows=2, columns=4, dataflow="output_stationary"))
CONFIGS = {
    "fp16": FP16,
    "int8": INT8,
    "2x8": OBLONG,
    "output-stationary": STAYS,
    "bf16": replace(FP16, matrix=replace(FP16.matrix, rows=2, columns=2, operand="bf16")),
    "fp8_e4m3": replace(FP16, matrix=replace(FP16.matrix, operand="fp8_e4m3")),
    "fp8_e5m2": replace(FP16, matrix=replace(FP16.matrix, operand="fp8_e5m2")),
    "fp32": replace(FP16, matrix=replace(FP16.matrix, rows=2, columns=2, operand="fp32")),
}

A_ADDRESS, B_ADDRESS, C_ADDRESS = 0x40, 0x4080, 0x8100
PLACES = {"a": A_ADDRESS, "b": B_ADDRESS, "c": C_ADDRESS}
NUMERICS = {
    "weight_stationary": lambda a, b, matrix: systolic_ws(
        a, b, matrix.rows, operand=matrix.operand
    ),
    "output_stationary": lambda a, b, matrix: systolic_os(a, b, len(b), operand=matrix.operand),
}


def fire(function, rs1=0, rs2=0):
    """Return the writes of one RoCC command."""
    return [
        (MATRIX["rs1_low"].offset, rs1 & 0xFFFFFFFF),
        (MATRIX["rs1_high"].offset, rs1 >> 32),
        (MATRIX["rs2_low"].offset, rs2 & 0xFFFFFFFF),
        (MATRIX["rs2_high"].offset, rs2 >> 32),
        (MATRIX["instruction"].offset, rocc_word(function)),
    ]


def operands(config, shape, seed):
    """Return random operands of a GEMM."""
    m, n, k = shape
    problem = GemmProblem.placed(m=m, n=n, k=k, operand=config.matrix.operand)
    return gemm_operands(problem, "random", seed)


def c_type(config, wide):
    """Return the format name and the NumPy type of C."""
    matrix = config.matrix
    name = (matrix.accumulator_format if wide else matrix.narrow_format).name
    return name, dtype_of(name)


def loop(
    config,
    shape,
    addresses=PLACES,
    *,
    half=1,
    wide=0,
    relu=0,
    transpose_a=0,
    transpose_b=0,
    accumulate=0,
    parts=0x20,
):
    """Return the writes of one LOOP_WS of a whole GEMM."""
    matrix = config.matrix
    m, n, k = shape
    half_size = config.shared.size // 2
    blocks = [-(-m // matrix.rows), -(-n // matrix.columns), -(-k // matrix.rows)]
    pads = [
        blocks[0] * matrix.rows - m,
        blocks[1] * matrix.columns - n,
        blocks[2] * matrix.rows - k,
    ]
    return [
        *fire(
            Function.BOUNDS,
            encode(bounds_pads, **dict(zip("ijk", pads, strict=True))),
            encode(bounds_sizes, **dict(zip("ijk", blocks, strict=True))),
        ),
        *fire(Function.ADDRESSES_AB, addresses["a"], addresses["b"]),
        *fire(Function.ADDRESSES_DC, 0, addresses["c"]),
        *fire(Function.STRIDES_AB, m if transpose_a else k, k if transpose_b else n),
        *fire(Function.STRIDES_DC, 0, n),
        *fire(
            Function.SPAD_AB,
            half * half_size // matrix.a_bytes,
            (half + 1) * half_size // matrix.b_bytes,
        ),
        *fire(
            Function.LOOP_WS,
            encode(loop_control, accumulate=accumulate, full_c=wide, activation=relu),
            encode(loop_parts, transpose_a=transpose_a, transpose_b=transpose_b) | parts,
        ),
    ]


def bits_of(values):
    """Return the bit patterns of an array, so that NaNs compare."""
    return values.view(f"u{values.dtype.itemsize}")


CASES = [
    ((8, 8, 8), {}),
    ((1, 1, 1), {"wide": 1}),
    ((13, 7, 11), {"relu": 1}),
    ((5, 9, 17), {"wide": 1, "transpose_a": 1}),
    ((9, 6, 5), {"transpose_b": 1}),
    ((2, 17, 3), {"transpose_a": 1}),
]


def possible_cases(config):
    """Return the cases that an array supports."""
    matrix = config.matrix
    square = matrix.rows == matrix.columns
    return [
        (shape, options)
        for shape, options in CASES
        if not (options.get("transpose_a") and not square)
        and not (
            options.get("transpose_b") and not (square and matrix.dataflow == "weight_stationary")
        )
    ]


#: Shares of cycles in which memory stalls.
STALLS = (pytest.param(0.0, marks=pytest.mark.slow), 0.3)
SLOW = ("fp8_e4m3", "fp8_e5m2", "fp32")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CONFIGS]
)
@pytest.mark.full
def test_loops_two_in_flight(name):
    config = CONFIGS[name]
    require_no_loop(SystolicUnit, config)
    cases = possible_cases(config)
    machine = MatrixHost(config, [], stall=0.3)
    matrices = []
    for number, (shape, options) in enumerate(cases):
        base = number * 0x1800
        addresses = {"a": base, "b": base + 0x800, "c": base + 0x1002}
        a, b = operands(config, shape, number)
        matrices.append((a, b, addresses["c"]))
        machine.put(addresses["a"], a.T.copy() if options.get("transpose_a") else a)
        machine.put(addresses["b"], b.T.copy() if options.get("transpose_b") else b)
        if number >= 2:
            machine.writes.append(WAIT)
        machine.writes += loop(config, shape, addresses, half=number & 1, **options)
    simulate(machine.dut, machine.run)
    numerics = NUMERICS[config.matrix.dataflow]
    for (shape, options), (a, b, c_address) in zip(cases, matrices, strict=True):
        c_format, c_dtype = c_type(config, options.get("wide", 0))
        expected = read_out(numerics(a, b, config.matrix), c_format, relu=bool(options.get("relu")))
        found = machine.get(c_address, (shape[0], shape[1]), c_dtype)
        assert np.array_equal(bits_of(found), bits_of(expected)), (shape, options)


@pytest.mark.full
def test_cisc_commands_double_buffer_a_long_k():
    config = replace(FP16, matrix=replace(FP16.matrix, tile=(12, 8, 8)))
    m, n, k = config.matrix.tile
    slabs = 3
    a, b = operands(config, (m, n, slabs * k), 3)
    cisc = MATRIX["cisc"].offset
    writes = [
        *fire(Function.STRIDES_AB, slabs * k, n),
        (cisc, encode_cisc("current", "strides_dc", first=0, second=n)),
        *fire(Function.ADDRESSES_DC, 0, C_ADDRESS),
    ]

    def slab(index):
        places = {"a": 8 * (index & 1), "b": 8 * (index & 1) + 7}
        load = [
            *fire(Function.ADDRESSES_AB, A_ADDRESS + 2 * index * k, B_ADDRESS + 2 * index * k * n),
            (cisc, encode_cisc("current", "load", **places)),
        ]
        return load, [(cisc, encode_cisc("current", "compute", **places, c=int(index > 0)))]

    loads, computes = zip(*(slab(index) for index in range(slabs)), strict=True)
    writes += [*loads[0], WAIT]
    for index in range(slabs):
        writes += computes[index]
        if index + 1 < slabs:
            writes += [*loads[index + 1], WAIT]
    writes.append((cisc, encode_cisc("current", "store")))
    machine = MatrixHost(config, writes, stall=0.2)
    machine.put(A_ADDRESS, a)
    machine.put(B_ADDRESS, b)
    simulate(machine.dut, machine.run)
    expected = read_out(systolic_ws(a, b, config.matrix.rows), "fp16")
    found = machine.get(C_ADDRESS, (m, n), np.float16)
    assert np.array_equal(bits_of(found), bits_of(expected))
    assert machine.active == m * n * slabs * k // config.matrix.macs


@pytest.mark.full
def test_a_tile_is_spilled_scaled_and_used_as_an_operand():
    config = FP16
    m, n, k = 8, 8, 8
    a, b = operands(config, (m, n, k), 5)
    half = int(np.float32(0.5).view(np.uint32))
    size, row = config.shared.size, config.matrix.a_bytes
    first = loop(config, (m, n, k), parts=0x20 | 0x80)
    spill_row = size // 4 // row
    writes = [
        *first,
        WAIT,
        *fire(
            Function.CONFIG,
            encode(config_store, kind=ConfigKind.STORE),
            encode(config_store_scale, scale=half),
        ),
        *fire(Function.LOOP_WS, 0, 0x278 | spill_row << 32),
        WAIT,
        *fire(Function.SPAD_AB, spill_row, size // config.matrix.b_bytes),
        *fire(
            Function.CONFIG,
            encode(config_store, kind=ConfigKind.STORE),
            encode(config_store_scale, scale=0x3F800000),
        ),
        *fire(Function.LOOP_WS, encode(loop_control, full_c=1), 0x38),
    ]
    machine = MatrixHost(config, writes)
    machine.put(A_ADDRESS, a)
    machine.put(B_ADDRESS, b)
    simulate(machine.dut, machine.run)
    inner = read_out(systolic_ws(a, b, 4), "fp16", scale=0.5)
    expected = systolic_ws(inner, b, 4)
    found = machine.get(C_ADDRESS, (m, n), np.float32)
    assert np.array_equal(bits_of(found), bits_of(expected))


@pytest.mark.parametrize("operand", ["fp16", "fp32"])
@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.full
def test_two_tiles_share_the_accumulator_and_one_is_scaled_by_rows(operand, stall):
    matrix = replace(FP16.matrix, operand=operand, row_scale=True)
    config = replace(FP16, matrix=matrix)
    m, n, k, rounds, upper = 13, 8, 11, 4, 32
    a, b = operands(config, (m, n, k), 3)
    words = -(-m * 4 // matrix.a_bytes) * matrix.a_bytes // 4
    scales = np.random.default_rng(7).normal(size=(rounds, words)).astype(np.float32)
    scales[1, :4] = [0.0, -0.0, np.inf, 1e-40]
    place = config.shared.size // 2

    def compute(first, number):
        line = (place + number * words * 4) // matrix.a_bytes
        again = int(number > 0)
        control = encode(loop_control, accumulate=again, scale_rows=again)
        return [*fire(Function.ACCUMULATOR, first, line), *fire(Function.LOOP_WS, control, 0x2B8)]

    def store(first, address):
        return [
            *fire(Function.ACCUMULATOR, first),
            *fire(Function.ADDRESSES_DC, 0, address),
            *fire(Function.LOOP_WS, encode(loop_control, full_c=1), 0x78),
        ]

    writes = [*loop(config, (m, n, k), parts=0xE0, half=0), WAIT]
    for number in range(rounds):
        writes += [*compute(upper, number), *compute(0, 0)]
    # Two computes with scales in succession: the second waits for the rows of the first.
    writes += [*compute(upper, 1), *compute(upper, 2)]
    below = C_ADDRESS + 0x1000
    machine = MatrixHost(config, [*writes, *store(upper, C_ADDRESS), *store(0, below)], stall=stall)
    machine.put(A_ADDRESS, a)
    machine.put(B_ADDRESS, b)
    machine.shared[place : place + scales.nbytes] = scales.tobytes()
    simulate(machine.dut, machine.run)

    plain = systolic_ws(a, b, matrix.rows, operand=operand)
    total = plain
    for number in [*range(1, rounds), 1, 2]:
        with np.errstate(all="ignore"):
            before = total * scales[number, :m, None]
        total = systolic_ws(a, b, matrix.rows, before, operand=operand)
    for address, expected in ((C_ADDRESS, total), (below, plain)):
        found = machine.get(address, (m, n), np.float32)
        assert np.array_equal(bits_of(found), bits_of(expected))


@pytest.mark.parametrize("dataflow", ["weight_stationary", "output_stationary"])
@pytest.mark.parametrize("stall", STALLS)
@pytest.mark.full
def test_d_is_loaded_beside_products_of_other_rows(dataflow, stall):
    """D from shared memory, then from DRAM over the rows of running products, each added to."""
    matrix = replace(FP16.matrix, load_d=True, dataflow=dataflow)
    config = replace(FP16, matrix=matrix)
    m, n, k, upper = 13, 7, 11, 32
    a, b = operands(config, (m, n, k), 5)
    rng = np.random.default_rng(3)
    d = rng.normal(size=(2, m, n + 2)).astype(np.float32)
    place, d_address = config.shared.size // 2, 0xC000

    def command(first, parts, *, c=0, d=0, accumulate=0):
        control = encode(loop_control, accumulate=accumulate, full_c=1)
        return [
            *fire(Function.ACCUMULATOR, first),
            *fire(Function.ADDRESSES_DC, d, c),
            *fire(Function.STRIDES_DC, n + 2 if d else 0, n),
            *fire(Function.LOOP_WS, control, parts),
        ]

    compute, store = 0x298, 0x58  # neither skips D
    shared_d = 0xFF000000 + place
    writes = [*loop(config, (m, n, k), parts=0xE0, half=0), WAIT]
    writes += [*command(0, compute), *command(upper, compute)]
    # D replaces the rows of the last product; that of the first continues.
    writes += [
        *command(upper, compute, d=shared_d, accumulate=1),
        *command(0, compute, accumulate=1),
    ]
    places = [C_ADDRESS + 0x400 * number for number in range(5)]
    writes += [*command(upper, store, c=places[0]), *command(0, store, c=places[1])]
    # D replaces rows while their store is in progress; a command of D alone; D then stored as is.
    writes += command(upper, 0xD8, d=d_address)
    writes += command(upper, store, c=places[2])
    writes += command(0, 0x18, c=places[3], d=d_address, accumulate=1)
    writes += command(upper, store, d=shared_d, c=places[4])
    machine = MatrixHost(config, writes, stall=stall)
    machine.put(A_ADDRESS, a)
    machine.put(B_ADDRESS, b)
    machine.put(d_address, d[1])
    machine.shared[place : place + d[0].nbytes] = d[0].tobytes()
    simulate(machine.dut, machine.run)

    def product(before=None):
        if dataflow == "output_stationary":
            return systolic_os(a, b, k, before, operand="fp16")
        return systolic_ws(a, b, matrix.rows, before)

    first, second = (np.ascontiguousarray(each[:, :n]) for each in d)
    expected = [product(first), product(product()), second, product(second), first]
    for number, (address, values) in enumerate(zip(places, expected, strict=True)):
        found = machine.get(address, (m, n), np.float32)
        assert np.array_equal(bits_of(found), bits_of(values)), number


def test_a_refused_command_disturbs_nothing():
    config = FP16
    a, b = operands(config, (8, 8, 8), 7)
    good = loop(config, (8, 8, 8))
    writes = [
        *good,
        (MATRIX["cisc"].offset, 0x60),
        (MATRIX["instruction"].offset, 0xFFFFFFFF),
        *fire(Function.LOOP_WS, 0, 0x3),
        *fire(Function.LOOP_WS, 0, 0xB8 | 0x100),
    ]
    machine = MatrixHost(config, writes)
    machine.put(A_ADDRESS, a)
    machine.put(B_ADDRESS, b)

    async def read_error(ctx):
        await machine.run(ctx)
        port = machine.dut.registers
        for name, value in (("error", 1), ("error_word", 0x60), ("running", 0)):
            ctx.set(
                port.request.payload,
                {
                    "address": MATRIX[name].offset,
                    "write": 0,
                    "data": 0,
                },
            )
            ctx.set(port.request.valid, 1)
            await ctx.tick()
            assert ctx.get(port.response.payload.data) == value
        ctx.set(port.request.valid, 0)
        await ctx.tick().repeat(2)
        assert not ctx.get(machine.dut.busy)
        assert not ctx.get(machine.dut.events.as_value())

    simulate(machine.dut, read_error)
    expected = read_out(systolic_ws(a, b, 4), "fp16")
    found = machine.get(C_ADDRESS, (8, 8), np.float16)
    assert np.array_equal(bits_of(found), bits_of(expected))
