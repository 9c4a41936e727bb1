"""Functional model of a host-driven cluster: executes a command list without a clock.

Loads and stores take effect at moments and in orders that a random generator chooses, as far as
the machine leaves them open, and every access to shared memory that could meet one in flight is
an error. A command list that passes for many seeds depends on nothing it did not wait for.
"""

import random

import numpy as np

from ...hw.address_map import DMA, DMA_BASE, MATRIX, MATRIX_BASE
from ...hw.arithmetic import ARITHMETIC
from ...hw.config import ClusterConfig
from ...hw.isa.commands import (
    COMPUTE,
    STORE,
    Function,
    bounds_pads,
    config_store_scale,
    loop_control,
    rocc_word,
)
from ...kernels.commands import Operation
from ...kernels.elements import dtype_of
from .systolic import read_out, systolic_os, systolic_ws

__all__ = ["ClusterModel"]

ERRORS = (
    DMA_BASE + DMA["error"].offset,
    *(MATRIX_BASE + MATRIX[name].offset for name in ("error", "error_word")),
)


class ClusterModel:
    """Executes command lists on NumPy arrays.

    Parameters
    ----------
    config : ClusterConfig
    image : list of (address, bytes)
        What DRAM holds at the start; nothing else may be touched.
    seed : int
        Chooses the order of what is unordered.

    """

    def __init__(self, config: ClusterConfig, image, seed: int):
        assert config.matrix is not None
        self.config = config
        self.matrix = config.matrix
        self.rng = random.Random(seed)
        self.haste = self.rng.choice((0.0, 0.3, 0.8))
        self.speeds = {
            name: self.rng.choice((0.01, 1.0))
            for name in ("finish_load", "finish_store", "finish_command")
        }
        self.dram = [(address, np.array(data, dtype=np.uint8)) for address, data in image]
        self.shared = np.full(config.shared.size, 0xFF, dtype=np.uint8)
        self.accumulator = np.zeros((0, 0), dtype=np.float32)
        self.dma = {name: 0 for name in DMA}
        self.registers = {name: 0 for name in MATRIX}
        self.kept: dict[Function, tuple[int, int]] = {}
        self.loads: list[dict] = []
        self.commands: list[dict] = []
        self.stores: list[tuple[dict, np.ndarray]] = []
        self.most_in_flight = 0

    def run(self, commands: np.ndarray) -> list[int]:
        """Execute `commands` and return what it read; raise `RuntimeError` if one waits for ever.

        There are no clock and no event counters: they read as 0.
        """
        reads = []
        for operation, address, data, mask in commands.tolist():
            while self.rng.random() < self.haste and self.advance():
                pass
            if operation == Operation.WRITE:
                self.write(address, data)
                continue
            while not self.satisfied(operation, self.read(address), data, mask):
                if not self.advance():
                    raise RuntimeError(f"register {address:#x} is never {data:#x}")
            if operation == Operation.READ:
                reads.append(self.read(address))
        return reads

    @staticmethod
    def satisfied(operation: int, value: int, data: int, mask: int) -> bool:
        if operation == Operation.WAIT_EQUAL:
            return value & mask == data
        return operation == Operation.READ or (value - data) & 0x8000_0000 == 0

    def region(self, address: int, size: int) -> np.ndarray:
        """Return the bytes of DRAM from `address` on, to read or to change."""
        for base, data in self.dram:
            if base <= address and address + size <= base + len(data):
                return data[address - base : address - base + size]
        raise IndexError(f"DRAM {address:#x} to {address + size:#x} was not placed")

    def read(self, address: int) -> int:
        if address < DMA_BASE or address in ERRORS:
            return 0  # what would be an error is an assertion here
        if address >= MATRIX_BASE:
            busy = bool(self.commands or self.stores)
            return {MATRIX["busy"].offset: int(busy)}.get(
                address - MATRIX_BASE, self.registers["computes_done"]
            )
        assert address == DMA_BASE + DMA["loads_done"].offset
        return self.dma["loads_done"]

    def write(self, address: int, data: int):
        table, base, values = (
            (MATRIX, MATRIX_BASE, self.registers)
            if address >= MATRIX_BASE
            else (DMA, DMA_BASE, self.dma)
        )
        name = next(name for name, entry in table.items() if entry.offset == address - base)
        assert "w" in table[name].access, f"{name} is read-only"
        values[name] = data
        if name == "start":
            assert data == 0, "only loads come through the DMA's registers here"
            self.begin_load()
        elif name == "instruction":
            self.instruct(data)

    def begin_load(self):
        job: dict = dict(self.dma)
        rows = max(job["shape"] & 0xFFFF, job["fill"] & 0xFFFF)
        size = max(job["shape"] >> 16, job["fill"] >> 16)
        last = job["local"] + (rows - 1) * job["local_pitch"] + size
        assert last <= self.config.shared.size, "load beyond shared memory"
        job["range"] = range(job["local"], last)
        for other in self.loads:
            assert not overlap(job["range"], other["range"]), "two loads into one place"
        for command in self.commands:
            for used in command["ranges"]:
                assert not overlap(job["range"], used), "load into a tile in use"
        self.loads.append(job)

    def instruct(self, word: int):
        function = Function(word >> 25)
        assert word == rocc_word(function), "not a RoCC word of two operands"
        rs1, rs2 = (
            self.registers[f"{name}_low"] | self.registers[f"{name}_high"] << 32
            for name in ("rs1", "rs2")
        )
        if function in (Function.SPAD_AB, Function.ADDRESSES_DC, Function.STRIDES_DC):
            assert not (rs1 | rs2) >> 32, "beyond 32 bits"
        if function != Function.LOOP_WS:
            self.kept[function] = (rs1, rs2)
            return
        command: dict = {"control": rs1, "parts": rs2 & 0xFFFF_FFFF, "ranges": ()} | self.kept
        if command["parts"] == COMPUTE:
            command["ranges"] = (self.tile(command, "a"), self.tile(command, "b"))
            for load in self.loads:
                for used in command["ranges"]:
                    assert not overlap(load["range"], used), "operands still on their way"
        else:
            assert command["parts"] == STORE, "neither a compute nor a store"
        self.commands.append(command)
        computes = sum(bool(one["ranges"]) for one in self.commands)
        self.most_in_flight = max(self.most_in_flight, computes)

    def shape(self, command: dict) -> tuple[list[int], list[int]]:
        """Return I, J, K of a command in elements, whole blocks and without pads."""
        units = (self.matrix.rows, self.matrix.columns, self.matrix.rows)
        pads, blocks = (
            [extract(bounds_pads, name, word) for name in "ijk"]
            for word in command[Function.BOUNDS]
        )
        whole = [count * unit for count, unit in zip(blocks, units, strict=True)]
        return whole, [size - pad for size, pad in zip(whole, pads, strict=True)]

    def tile(self, command: dict, name: str) -> range:
        """Return the bytes of shared memory that hold the tile of A or B."""
        (i, j, k), _ = self.shape(command)
        a_start, b_end = (word & 0xFFFF_FFFF for word in command[Function.SPAD_AB])
        matrix = self.matrix
        if name == "a":
            start = a_start * matrix.a_bytes
            return range(start, start + i * (k // matrix.rows) * matrix.a_bytes)
        end = b_end * matrix.b_bytes
        return range(end - k * (j // matrix.columns) * matrix.b_bytes, end)

    def advance(self) -> bool:
        """Finish one thing that may be next; return whether there was one."""
        waiting = {
            self.finish_load: self.loads,
            self.finish_store: self.stores,
            self.finish_command: self.commands,
        }
        choices = [finish for finish, queue in waiting.items() if queue]
        if choices:
            weights = [self.speeds[finish.__name__] for finish in choices]
            self.rng.choices(choices, weights)[0]()
        return bool(choices)

    def finish_load(self):
        job = self.loads.pop(0)
        rows, size = job["shape"] & 0xFFFF, job["shape"] >> 16
        fill_rows, fill_size = job["fill"] & 0xFFFF, job["fill"] >> 16
        for row in range(max(rows, fill_rows)):
            local = job["local"] + row * job["local_pitch"]
            self.shared[local : local + fill_size] = 0
            if row < rows:
                source = self.region(job["dram"] + row * job["dram_pitch"], size)
                self.shared[local : local + size] = source
        self.dma["loads_done"] += 1

    def finish_command(self):
        command = self.commands.pop(0)
        if command["parts"] == STORE:
            self.stores.append((command, self.accumulator))
            return
        (i, j, k), (m, n, depth) = self.shape(command)
        matrix = self.matrix
        a, b = (self.shared[np.array(self.tile(command, name))] for name in "ab")
        a = self.elements(a, matrix.a_bytes, matrix.rows).reshape(i, k)[:m]
        b = self.elements(b, matrix.b_bytes, matrix.columns).reshape(k, j)[:, :n]
        accumulates = extract(loop_control, "accumulate", command["control"])
        before = self.accumulator if accumulates else None
        if matrix.dataflow == "weight_stationary":
            total = systolic_ws(a, b, matrix.rows, before, operand=matrix.operand)
        else:
            total = systolic_os(a[:, :depth], b[:depth], depth, before, operand=matrix.operand)
        self.accumulator = total
        self.registers["computes_done"] += 1

    def elements(self, data: np.ndarray, block_bytes: int, count: int) -> np.ndarray:
        """Return the `count` elements of each block."""
        return data.reshape(-1, block_bytes).view(dtype_of(self.matrix.operand))[:, :count]

    def finish_store(self):
        command, accumulator = self.stores.pop(0)
        _, (m, n, _) = self.shape(command)
        assert accumulator.shape == (m, n), "store of another tile than was computed"
        control = command["control"]
        arithmetic = ARITHMETIC[self.matrix.operand]
        is_wide = extract(loop_control, "full_c", control)
        c_format = arithmetic.accumulator if is_wide else arithmetic.narrow
        scale = None
        if Function.CONFIG in command:
            bits = extract(config_store_scale, "scale", command[Function.CONFIG][1])
            scale = np.uint32(bits).view(np.float32)
        relu = bool(extract(loop_control, "activation", control))
        c = read_out(accumulator, c_format, relu=relu, scale=scale)
        pitch, base = (
            command[function][1] & 0xFFFF_FFFF
            for function in (Function.STRIDES_DC, Function.ADDRESSES_DC)
        )
        for row, values in enumerate(c):
            address = base + row * pitch * c.itemsize
            self.region(address, n * c.itemsize)[:] = values.view(np.uint8)


def extract(layout, name: str, word: int) -> int:
    """Return one field of `word`."""
    field = layout[name]
    return word >> field.offset & ((1 << field.width) - 1)


def overlap(one: range, other: range) -> bool:
    """Return whether two ranges of bytes meet."""
    return one.start < other.stop and other.start < one.stop
