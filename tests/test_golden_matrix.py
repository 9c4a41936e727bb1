"""The golden matrix unit, command by command, against loops over its steps, and against RTL."""

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from spica.hw.address_map import DRAM_BASE, MATRIX, MATRIX_BASE, SHARED_BASE
from spica.hw.config import PRESETS
from spica.hw.formats import FloatFormat
from spica.hw.isa.commands import (
    CISC_MAPS,
    ConfigKind,
    Function,
    bounds_pads,
    bounds_sizes,
    config_store,
    config_store_scale,
    encode,
    loop_control,
    rocc_word,
)
from spica.kernels.elements import dtype_of
from spica.sim.bench import simulate
from spica.sim.golden.commands import CommandModel
from spica.sim.golden.sequencer import (
    expected_jobs,
    expected_rows,
    expected_steps,
    expected_weights,
)
from spica.sim.golden.systolic import read_out, systolic_os
from spica.sim.iss.devices import Devices
from spica.sim.matrix_host import WAIT, MatrixHost

TINY = PRESETS["tiny_matrix"]
assert TINY.matrix is not None
TINY = replace(TINY, matrix=replace(TINY.matrix, tile=(8, 8, 8)))
DRAM_BYTES = 1 << 16


def change(**fields):
    return replace(TINY, matrix=replace(TINY.matrix, **fields))


CONFIGS = {
    "fp16": TINY,
    "legacy": change(cisc_map="legacy"),
    "output-stationary": change(dataflow="output_stationary", rows=2),
    "int8": change(operand="int8", read_scale=False),
    "2x8": change(rows=2, columns=8, multiply_add_latency=1),
    "fp8 2x2": change(operand="fp8_e4m3", rows=2, columns=2),
}


class Memory:
    """DRAM and shared memory: numbers near 1 of the operand's format, so that sums round."""

    def __init__(self, config, seed):
        rng = np.random.default_rng(seed)
        form = config.matrix.operand_format
        counts = (size // (form.width // 8) for size in (DRAM_BYTES, config.shared.size))
        if isinstance(form, FloatFormat):
            one, spread = form.bias << form.fraction_width, 1 << form.fraction_width
            stored = [
                rng.integers(one - 2 * spread, one + spread, count)
                | rng.integers(0, 2, count) << form.magnitude_width
                for count in counts
            ]
        else:
            stored = [rng.integers(0, 256, count) for count in counts]
        self.dram, self.shared = (x.astype(f"u{form.width // 8}").view(np.uint8) for x in stored)

    def at(self, address, nbytes):
        shared = address >= SHARED_BASE
        base, data = (SHARED_BASE, self.shared) if shared else (DRAM_BASE, self.dram)
        assert base <= address and address + nbytes <= base + len(data)
        return data[address - base : address - base + nbytes]

    def read(self, address, nbytes):
        return self.at(address, nbytes).copy()

    def write(self, address, data):
        self.at(address, len(data))[:] = np.frombuffer(data, np.uint8)


def fire(function, rs1=0, rs2=0):
    """Return the writes of one RoCC command."""
    operands = (rs1 & 0xFFFF_FFFF, rs1 >> 32, rs2 & 0xFFFF_FFFF, rs2 >> 32)
    names = ("rs1_low", "rs1_high", "rs2_low", "rs2_high")
    writes = [(MATRIX[name].offset, word) for name, word in zip(names, operands, strict=True)]
    return [*writes, (MATRIX["instruction"].offset, rocc_word(function))]


def random_command(config, rng):
    """Return the writes of a random command, most of them legal; jobs stay in small memory."""
    matrix, size = config.matrix, config.shared.size
    units = (matrix.rows, matrix.columns, matrix.rows)
    choice = rng.choice([
        "bounds",
        "spad",
        "places",
        "strides",
        "scale",
        *["loop"] * 6,
        *["cisc"] * 2,
    ])
    if choice == "bounds":
        pads = dict(zip("ijk", (rng.randrange(unit) for unit in units), strict=True))
        sizes = {axis: rng.choice([1, 1, 2, 2, 3, 3, 99]) for axis in "ijk"}
        return fire(Function.BOUNDS, encode(bounds_pads, **pads), encode(bounds_sizes, **sizes))
    if choice == "spad":
        a_line = rng.randrange(size // 2 // matrix.a_bytes)
        b_end = rng.randint(size // 2 // matrix.b_bytes, size // matrix.b_bytes + 1)
        return fire(Function.SPAD_AB, a_line, b_end)
    if choice == "places":
        c_address = DRAM_BASE + rng.randrange(0x1000) * 4
        if rng.random() < 0.3:
            return fire(Function.ADDRESSES_DC, 0, c_address)
        return fire(Function.ADDRESSES_AB, c_address, DRAM_BASE + rng.randrange(0x8000))
    if choice == "strides":
        function = rng.choice([Function.STRIDES_AB, Function.STRIDES_DC])
        return fire(function, rng.randrange(100), rng.randrange(100))
    if choice == "scale":
        scale = int(np.float32(rng.choice([1, 1, 0.3, -2])).view(np.uint32))
        control = encode(config_store, kind=ConfigKind.STORE, activation=rng.choice([0, 0, 1]))
        return fire(Function.CONFIG, control, encode(config_store_scale, scale=scale))
    if choice == "loop":
        parts = rng.choice([0x2B8, 0x238, 0x2E0, 0x78, 0x278, 0x2F8, 0x20, 0xA0])
        turn = rng.choice([0, 0, 1, 2]) if matrix.rows == matrix.columns else 0
        fields = {"accumulate": 1, "full_c": 1, "activation": 1}
        control = encode(loop_control, **{name: rng.randint(0, 1) for name in fields})
        row = rng.randrange(size // matrix.a_bytes)
        return fire(Function.LOOP_WS, control, parts | turn | row << 32)
    code = rng.choice([*CISC_MAPS[matrix.cisc_map], 31])
    bytes_of = [rng.randrange(16) for _ in range(3)]
    # A stride of two bytes of a word would be long: those have commands of their own.
    if code in (8, 11):
        bytes_of = [rng.randrange(60), 0, 0]
    word = code | bytes_of[0] << 8 | bytes_of[1] << 16 | bytes_of[2] << 24
    return [(MATRIX["cisc"].offset, word)]


class Loops:
    """The same, value by value: `golden.sequencer` says which meet in the array."""

    def __init__(self, config, memory):
        self.config, self.matrix, self.memory = config, config.matrix, memory
        wide = dtype_of(self.matrix.accumulator_format.name)
        self.sums = np.zeros((self.matrix.accumulator_rows, self.matrix.columns), wide)
        form = self.matrix.operand_format
        codes = np.arange(1 << form.width).astype(f"u{form.width // 8}")
        stored = codes.view(dtype_of(self.matrix.operand))
        ones = np.ones((1, 1), stored.dtype)
        # A multiplication by 1 decodes.
        if isinstance(form, FloatFormat):
            ones[:] = np.array([form.bias << form.fraction_width], codes.dtype).view(ones.dtype)
        self.values = systolic_os(stored[:, None], ones, 1, operand=self.matrix.operand)[:, 0]

    def run(self, operation):
        jobs = expected_jobs(self.config, operation)
        for job in jobs:
            if job["direction"] == "LOAD":
                for row in range(job["rows"]):
                    source = job["dram"] + row * job["dram_pitch"]
                    target = SHARED_BASE + job["local"] + row * job["local_pitch"]
                    self.memory.write(target, self.memory.read(source, job["bytes"]).tobytes())
        if operation["compute"]:
            shared = self.memory.shared.tobytes()
            if self.matrix.dataflow == "weight_stationary":
                self.rows(operation, shared)
            else:
                self.steps(operation, shared)
        if operation["store"]:
            self.store(operation, jobs[-1])

    def rows(self, operation, shared):
        weights = self.values[expected_weights(self.config, operation, shared)]
        tile = -1
        for a, swap, address, accumulate in expected_rows(self.config, operation, shared):
            tile += swap
            sums = np.zeros_like(self.sums[0])
            for r, value in enumerate(self.values[a]):
                sums += value * weights[tile * self.matrix.rows + r]
            self.sums[address] = self.sums[address] + sums if accumulate else sums

    def steps(self, operation, shared):
        chains, turn = [], 0
        for a, b, first, last, *rest in expected_steps(self.config, operation, shared):
            if first:
                chains.append(np.zeros((self.matrix.rows, self.matrix.columns), self.sums.dtype))
                turn = len(chains) - 1
            chains[turn] += self.values[a][:, None] * self.values[b]
            if last:
                address, accumulate = rest
                part = self.sums[address : address + self.matrix.rows]
                part[:] = part + chains[turn] if accumulate else chains[turn]
            turn += 1
            if turn == len(chains):
                turn = 0
                if last:
                    chains = []

    def store(self, operation, job):
        wide = operation["wide"]
        matrix = self.matrix
        form = (matrix.accumulator_format if wide else matrix.narrow_format).name
        scale = np.uint32(operation["scale"]).view(np.float32) if matrix.scales else None
        spills = job["direction"] == "SPILL"
        start, pitch = (
            (SHARED_BASE + job["local"], job["local_pitch"])
            if spills
            else (job["dram"], job["dram_pitch"])
        )
        # Block by block: where rows overlap in memory, this is the order in which they go.
        width, height = operation["width"], operation["height"]
        for first in range(0, width, matrix.columns):
            for i, j in product(range(height), range(first, min(width, first + matrix.columns))):
                column = j - first
                row = first // matrix.columns * operation["i_blocks"] * matrix.rows + i
                one = read_out(
                    self.sums[row, column : column + 1], form, relu=operation["relu"], scale=scale
                )
                self.memory.write(start + i * pitch + j * one.itemsize, one.tobytes())


def bits(values):
    """Return stored bits, those of any NaN the canonical ones."""
    if values.dtype == np.float32:
        values = np.where(np.isnan(values), np.float32(np.nan), values)
    return values.view(np.uint8)


@pytest.mark.parametrize("name", CONFIGS)
def test_random_commands_do_what_loops_do(name):
    config, rng = CONFIGS[name], random.Random(name)
    memory, loops = Memory(config, 1), Loops(config, Memory(config, 1))
    devices, golden = Devices(config, memory), CommandModel(config)
    devices.matrix.written[:] = True  # zeros, here
    writes = [
        *fire(Function.BOUNDS, 0, encode(bounds_sizes, i=2, j=2, k=2)),
        *fire(Function.SPAD_AB, 0, config.shared.size // config.matrix.b_bytes),
        *fire(Function.ADDRESSES_AB, DRAM_BASE, DRAM_BASE),
        *fire(Function.ADDRESSES_DC, 0, DRAM_BASE),
    ]
    seen = Counter()
    for _ in range(300):
        for offset, data in writes:
            devices.write(MATRIX_BASE + offset, data)
            golden.write(offset, data)
        for operation in golden.operations:
            seen.update(key for key, value in operation.items() if value)
            with np.errstate(all="ignore"):
                loops.run(operation)
        golden.operations.clear()
        devices.finish()
        assert np.array_equal(memory.dram, loops.memory.dram)
        assert np.array_equal(memory.shared, loops.memory.shared)
        assert np.array_equal(bits(devices.matrix.model.accumulator), bits(loops.sums))
        assert (devices.matrix.error, devices.matrix.read("error_word")) == (
            golden.error,
            golden.error_word,
        )
        writes = random_command(config, rng)
    assert min(seen[part] for part in ("load_a", "load_b", "compute", "store", "spill")) > 10
    assert golden.error == 3
    assert seen["accumulate"] > 5 and seen["relu"] > 5


class Offset:
    """Bytes whose first has an address."""

    def __init__(self, data, base):
        self.data, self.base = bytearray(data), base

    def move(self, places):
        return slice(places.start - self.base, places.stop - self.base)

    def __getitem__(self, places):
        return self.data[self.move(places)]

    def __setitem__(self, places, values):
        self.data[self.move(places)] = values


@pytest.mark.parametrize("name", ["fp16", "legacy", "output-stationary", "2x8"])
def test_random_commands_do_what_the_hardware_does(name):
    """One after the other, on Amaranth's simulator."""
    config, rng = CONFIGS[name], random.Random(name)
    memory, golden = Memory(config, 2), CommandModel(config)
    full = config.matrix.accumulator_rows // config.matrix.rows
    every = fire(Function.BOUNDS, 0, encode(bounds_sizes, i=min(full, 16), j=full // 16, k=1))
    writes = [
        *fire(Function.SPAD_AB, 0, config.shared.size // config.matrix.b_bytes),
        *fire(Function.ADDRESSES_AB, DRAM_BASE, DRAM_BASE),
        *fire(Function.ADDRESSES_DC, 0, DRAM_BASE),
        *every,
        *fire(Function.LOOP_WS, 0, 0x2B8),  # so that all of the accumulator is defined
    ]
    host = MatrixHost(config, [], stall=0.2)
    host.shared[:] = memory.shared.tobytes()
    host.dram = Offset(memory.dram.tobytes(), DRAM_BASE)
    devices = Devices(config, memory)
    while len(golden.operations) < 40:
        for offset, data in writes:
            host.writes.append((offset, data))
            devices.write(MATRIX_BASE + offset, data)
            golden.write(offset, data)
        host.writes.append(WAIT)
        devices.finish()
        writes = random_command(config, rng)
    simulate(host.dut, host.run)
    assert memory.shared.tobytes() == host.shared
    assert memory.dram.tobytes() == host.dram.data
    stores = [operation["store"] + operation["spill"] for operation in golden.operations]
    assert sum(stores) > 10
