"""Tests of the matrix unit's registers and commands against their golden model."""

import random
from dataclasses import replace

import pytest

from spica.hw.config import MatrixUnitConfig, SharedPortConfig, SystolicConfig
from spica.hw.isa.commands import (
    CISC_MAPS,
    Function,
    bounds_pads,
    bounds_sizes,
    encode,
    loop_control,
    loop_parts,
    rocc_word,
)
from spica.hw.isa.memory_map import DRAM_BASE, MATRIX, SHARED_BASE
from spica.hw.matrix.command.command_port import Command
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.matrix.command.command_decoder import decode_commands
from support.cluster.unit_register_bench import rocc_writes as fire

TINY = MatrixUnitConfig.of(PRESETS["tiny_matrix"])
LEGACY = replace(TINY, matrix=replace(TINY.matrix, cisc_map="legacy"))
WIDE = MatrixUnitConfig(
    shared=SharedPortConfig(size=4096, read_latency=2),
    matrix=SystolicConfig(
        rows=2,
        columns=8,
        operand="int8",
        accumulator_bytes=1024,
        tile=(8, 8, 6),
        read_scale=False,
    ),
)
SCALED = replace(TINY, matrix=replace(TINY.matrix, row_scale=True, tile=(16, 8, 8)))
WITH_D = replace(TINY, matrix=replace(TINY.matrix, load_d=True, row_scale=True))
STAYS = replace(TINY, matrix=replace(TINY.matrix, dataflow="output_stationary"))
CONFIGS = {
    "output-stationary": STAYS,
    "tiny": TINY,
    "scaled rows": SCALED,
    "loads of D": WITH_D,
    "legacy": LEGACY,
    "matrix": MatrixUnitConfig.of(PRESETS["matrix"]),
    "wide": WIDE,
}


async def access(ctx, dut, offset, data=None):
    """Write `data`, or read if it is None; return the response."""
    port = dut.registers
    ctx.set(port.request.payload, {"address": offset, "write": data is not None, "data": data or 0})
    ctx.set(port.request.valid, 1)
    await ctx.tick().until(port.request.ready)
    ctx.set(port.request.valid, 0)
    assert ctx.get(port.response.valid)
    response = ctx.get(port.response.payload)
    return response.data, response.error


def bounds(config, rng):
    """Return random sizes and pads: mostly small, some 0, at a limit or beyond."""
    matrix = config.matrix
    largest = matrix.accumulator_rows // matrix.rows
    size = [rng.choice([1, 1, 2, 3, rng.randint(0, largest + 1)]) for _ in range(3)]
    if rng.random() < 0.1:
        size[rng.randrange(3)] = rng.choice([0, 255, 65535])
    pad = [
        rng.choice([0, rng.randrange(limit)])
        for limit in (matrix.rows, matrix.columns, matrix.rows)
    ]
    if rng.random() < 0.1:
        pad[rng.randrange(3)] = rng.choice([matrix.rows, matrix.columns, 65535])
    return [
        encode(bounds_pads, **dict(zip("ijk", pad, strict=True))),
        encode(bounds_sizes, **dict(zip("ijk", size, strict=True))),
    ]


def random_command(config, rng):
    """Return the writes of one random command, legal in most of its parts."""
    matrix, size = config.matrix, config.shared.size
    function = rng.choice([0, 8, 8, 8, 9, 9, 10, 11, 12, 13, 24, 24, 26, 27, "cisc", "cisc", "odd"])
    long = rng.choice([0, 0, 0, 0, 0, 1 << rng.randrange(30, 64)])
    word = rng.getrandbits
    if function == 0:
        return fire(
            0,
            rng.choice([4, 0x104, 0x204, 0, 1, 2, 6, 10, 0x12, 3, 0x80]),
            rng.choice([0x3F800000, 0x40490FDB]) << 32,
        )
    if function == 8:
        parts = rng.choice([0x2B8, 0x238, 0x2E0, 0x78, 0x278, 0x2F8, 0x20, word(10)])
        if rng.random() < 0.7:
            parts &= 0x2F8
        if matrix.load_d and rng.random() < 0.5:
            parts &= ~0x20
        scaled = [9, 9, 11] if matrix.row_scale else [9]
        control = rng.choice([0, 1, 2, 3, *scaled, 0x100, 0x200, 0x10000, word(20)])
        return fire(8, control, parts | rng.randrange(size // matrix.a_bytes + 9) << 32)
    if function == 9:
        return fire(9, *bounds(config, rng))
    if function == 11 and matrix.load_d and rng.random() < 0.8:
        d = rng.choice([0xFF000000 + 4 * rng.randrange(size // 4), word(30) << 2, word(32)])
        return fire(11, d | long, word(32))
    if function in (10, 11):
        return fire(function, rng.choice([0, word(32)]) | long, word(32))
    if function in (12, 13):
        return fire(function, word(13) | long, rng.choice([word(30), word(13)]))
    if function == 24:
        return fire(
            24,
            rng.choice([0, rng.randrange(size // matrix.a_bytes)]) | long,
            rng.choice([size // matrix.b_bytes, rng.randrange(size // matrix.b_bytes + 2)]),
        )
    if function == 26:
        rows = matrix.accumulator_rows
        return fire(
            26,
            rng.choice([0] * 8 + [rng.randrange(rows // 4)] * 3 + [rng.randrange(rows), 1 << 20])
            | long,
            rng.choice([0, rng.randrange(size // matrix.a_bytes + 2)]) | long,
        )
    if function == "cisc":
        code = rng.choice([*CISC_MAPS[matrix.cisc_map], 31])
        args = [rng.choice([rng.randrange(16), rng.randrange(256)]) for _ in range(3)]
        unit = rng.choice([0] * 9 + [1])
        square = rng.choice([0] * 4 + [1])
        return [
            (0x30, code | unit << 5 | square << 7 | args[0] << 8 | args[1] << 16 | args[2] << 24)
        ]
    return [(0x00, rng.choice([rocc_word(14), rocc_word(7), 0x33, word(32)]))]


def relevant(operation):
    """Return the fields that `operation` uses."""
    uses_c = operation["compute"] or operation["store"] or operation.get("load_d")
    dropped = {
        "a_line": not (operation["load_a"] or operation["compute"]),
        "b_line": not (operation["load_b"] or operation["compute"]),
        "c_line": not (operation["store"] and operation["spill"]),
        "base": not uses_c,
        "end": not uses_c,
        "scales_line": not operation.get("scale_lines"),
    }
    return {name: value for name, value in operation.items() if not dropped.get(name)}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("stall", [0.0, 0.9])
@pytest.mark.quick(1)
def test_random_commands_match_golden_model(name, stall):
    config = CONFIGS[name]
    dut = Command(config)
    require_no_loop(Command, config)
    rng = random.Random(name)
    writes = []
    for _ in range(1200):
        writes += random_command(config, rng)
        if rng.random() < 0.1:
            writes.append((MATRIX["error"].offset, 0))
    golden = decode_commands(config, writes)
    assert len(golden.operations) > 20
    issued = []

    async def host(ctx):
        for offset, data in writes:
            assert await access(ctx, dut, offset, data) == (0, 0)
        assert await access(ctx, dut, MATRIX["error"].offset) == (golden.error, 0)
        assert await access(ctx, dut, MATRIX["error_word"].offset) == (golden.error_word, 0)

    async def sequencer(ctx):
        stalls = random.Random(1)
        while len(issued) < len(golden.operations):
            ready = stalls.random() >= stall
            ctx.set(dut.operation.ready, ready)
            ctx.set(dut.finished, ready and ctx.get(dut.operation.valid))
            _, _, valid, operation = await ctx.tick().sample(
                dut.operation.valid, dut.operation.payload
            )
            if ready and valid:
                expected = relevant(golden.operations[len(issued)])
                assert {name: getattr(operation, name) for name in expected} == expected
                issued.append(operation)
        ctx.set(dut.finished, 0)
        await ctx.tick().repeat(3)
        assert not ctx.get(dut.running)

    simulate(dut, host, sequencer)


def test_a_full_queue_holds_the_write_and_loses_nothing():
    dut = Command(TINY)
    accepted = []

    async def host(ctx):
        for number in range(8):
            await access(ctx, dut, MATRIX["cisc"].offset, 12)
            accepted.append(number)

    async def sequencer(ctx):
        await ctx.tick().repeat(200)
        # Four in the queue, one behind it in the decoder; the sixth write stalls.
        assert len(accepted) == 5
        assert ctx.get(dut.busy)
        assert not ctx.get(dut.registers.request.ready)
        assert ctx.get(dut.running) == 4
        for _ in range(8):
            ctx.set(dut.operation.ready, 1)
            await ctx.tick().until(dut.operation.valid)
            ctx.set(dut.operation.ready, 0)
            await ctx.tick().repeat(20)
        assert len(accepted) == 8
        assert ctx.get(dut.running) == 8

    simulate(dut, host, sequencer)


def test_a_read_after_a_command_sees_it_running():
    dut = Command(TINY)

    async def host(ctx):
        for number in range(3):
            await access(ctx, dut, MATRIX["cisc"].offset, 12)
            assert await access(ctx, dut, MATRIX["running"].offset) == (number + 1, 0)
            assert await access(ctx, dut, MATRIX["busy"].offset) == (1, 0)
        ctx.set(dut.finished, 1)
        ctx.set(dut.computed, 1)
        await ctx.tick().repeat(3)
        ctx.set(dut.finished, 0)
        ctx.set(dut.computed, 0)
        assert await access(ctx, dut, MATRIX["busy"].offset) == (0, 0)
        assert await access(ctx, dut, MATRIX["computes_done"].offset) == (3, 0)
        await ctx.tick()
        assert not ctx.get(dut.busy)
        ctx.set(dut.failed, 1)
        await ctx.tick()
        ctx.set(dut.failed, 0)
        assert await access(ctx, dut, MATRIX["error"].offset) == (4, 0)
        await access(ctx, dut, MATRIX["error"].offset, 0)
        assert await access(ctx, dut, MATRIX["error"].offset) == (0, 0)
        await access(ctx, dut, MATRIX["rs2_high"].offset, 0x1234)
        assert await access(ctx, dut, MATRIX["rs2_high"].offset) == (0x1234, 0)
        assert await access(ctx, dut, 0xF0) == (0, 1)

    simulate(dut, host)


def test_latency_of_a_compute_command():
    dut = Command(CONFIGS["matrix"])

    async def host(ctx):
        ctx.set(dut.operation.ready, 1)
        await access(ctx, dut, MATRIX["cisc"].offset, 11 << 16)
        cycles = 1
        while not ctx.get(dut.operation.valid):
            await ctx.tick()
            cycles += 1
        # Decode, sizes, products of 4-bit bounds, offer, queue.
        assert cycles == 9

    simulate(dut, host)


#: Field and value of a command of 4 x 4 x 2 blocks, and the error; the others are legal.
REFUSALS = [
    ({}, 0),
    ({"residual_add": 1}, 1),
    ({"next_accumulator": 1}, 1),
    ({"transpose_a": 1, "transpose_b": 1}, 1),
    ({"spads": 1}, 1),
    ({"activation": 2}, 1),
    ({"i": 0}, 2),
    ({"pad_j": 4}, 2),
    ({"i": 8, "j": 5}, 2),
    ({"b_end": 31}, 2),
    ({"b_end": 2049}, 2),
    ({"a_line": 2048 - 31}, 2),
    ({"d": DRAM_BASE}, 1),
]
#: The same for a unit that loads D.
REFUSALS_OF_D = [
    ({"d": 0}, 0),
    ({"d": DRAM_BASE}, 0),
    ({"d": DRAM_BASE, "low_d": 1}, 1),
    ({"d": DRAM_BASE, "accumulate": 0}, 1),
    ({"d": DRAM_BASE, "accumulate": 0, "skip_compute": 1}, 0),
    ({"d": DRAM_BASE + 2}, 2),
    ({"d": SHARED_BASE}, 0),
    ({"d": SHARED_BASE + TINY.shared.size - 60}, 2),
    ({"d": SHARED_BASE, "pitch": TINY.shared.size // 2}, 2),
    ({"d": SHARED_BASE, "pitch": TINY.shared.size // 2 - 1}, 0),
    ({"d": DRAM_BASE, "base": WITH_D.matrix.accumulator_rows - 63, "skip_compute": 1}, 2),
    ({"d": DRAM_BASE, "base": WITH_D.matrix.accumulator_rows - 64, "skip_compute": 1}, 0),
]


@pytest.mark.parametrize(
    ("config", "change", "error"),
    [
        *((TINY, change, error) for change, error in REFUSALS),
        *((WITH_D, change, error) for change, error in REFUSALS_OF_D),
    ],
)
@pytest.mark.quick(8)
def test_each_refusal(config, change, error):
    fields = {"i": 4, "j": 4, "k": 2, "pad_j": 0, "a_line": 0, "b_end": 32}
    fields |= {"d": 0, "pitch": 5, "base": 0, "accumulate": 1, "skip_load_d": "d" not in change}
    fields |= change
    control, parts = (
        encode(layout, **{name: fields[name] for name in layout.fields if name in fields})
        for layout in (loop_control, loop_parts)
    )
    writes = [
        *fire(
            Function.BOUNDS,
            encode(bounds_pads, j=fields["pad_j"]),
            encode(bounds_sizes, **{axis: fields[axis] for axis in "ijk"}),
        ),
        *fire(Function.SPAD_AB, fields["a_line"], fields["b_end"]),
        *fire(Function.ADDRESSES_DC, fields["d"], DRAM_BASE),
        *fire(Function.STRIDES_DC, fields["pitch"], 16),
        *fire(Function.ACCUMULATOR, fields["base"]),
        *fire(Function.LOOP_WS, control, parts | 0x298),
    ]
    golden = decode_commands(config, writes)
    assert golden.error == error
    assert golden.error_word == (rocc_word(Function.LOOP_WS) if error else 0)
    assert len(golden.operations) == (not error)
    dut = Command(config)

    async def host(ctx):
        for offset, data in writes:
            await access(ctx, dut, offset, data)
        assert await access(ctx, dut, MATRIX["error"].offset) == (error, 0)
        assert await access(ctx, dut, MATRIX["running"].offset) == (not error, 0)

    simulate(dut, host)
