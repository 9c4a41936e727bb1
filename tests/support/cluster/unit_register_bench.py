"""Bench of `Devices` with a small memory: register accesses and random commands."""

import random

import numpy as np

from spica.hw.config import MachineConfig
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
from spica.hw.isa.memory_map import DMA, DMA_BASE, DRAM_BASE, MATRIX, MATRIX_BASE, SHARED_BASE
from spica.sim.iss.devices import Devices

__all__ = ["DRAM_BYTES", "DeviceBench", "SmallMemory", "random_writes", "rocc_writes"]

#: Bytes of DRAM in the bench.
DRAM_BYTES = 1 << 16


class SmallMemory:
    """Memory of the bench: bytes of DRAM from `base` on, and shared memory, as byte arrays."""

    def __init__(self, dram: np.ndarray, shared: np.ndarray, base: int = DRAM_BASE):
        self.dram = dram
        self.shared = shared
        self.base = base

    def at(self, address: int, nbytes: int) -> np.ndarray:
        """Return a writable view of bytes."""
        is_shared = address >= SHARED_BASE
        base, data = (SHARED_BASE, self.shared) if is_shared else (self.base, self.dram)
        assert base <= address and address + nbytes <= base + len(data), hex(address)
        return data[address - base : address - base + nbytes]

    def read(self, address: int, nbytes: int) -> np.ndarray:
        """Return a copy of bytes."""
        return self.at(address, nbytes).copy()

    def write(self, address: int, data: bytes) -> None:
        """Write bytes."""
        self.at(address, len(data))[:] = np.frombuffer(data, np.uint8)


def rocc_writes(function: Function, rs1: int = 0, rs2: int = 0) -> list[tuple[int, int]]:
    """Return the register writes (offset, data) of one RoCC command."""
    operands = (rs1 & 0xFFFF_FFFF, rs1 >> 32, rs2 & 0xFFFF_FFFF, rs2 >> 32)
    names = ("rs1_low", "rs1_high", "rs2_low", "rs2_high")
    writes = [(MATRIX[name].offset, word) for name, word in zip(names, operands, strict=True)]
    return [*writes, (MATRIX["instruction"].offset, rocc_word(function))]


def random_writes(config: MachineConfig, rng: random.Random) -> list[tuple[int, int]]:
    """Return the writes of a random command, mostly legal, with addresses in `DRAM_BYTES`."""
    matrix, size = config.units[0], config.shared.size
    assert matrix is not None
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
        sizes = {axis: rng.choice([1, 1, 2, 2, 3, 3, 9999]) for axis in "ijk"}
        return rocc_writes(
            Function.BOUNDS, encode(bounds_pads, **pads), encode(bounds_sizes, **sizes)
        )
    if choice == "spad":
        a_line = rng.randrange(size // 2 // matrix.a_bytes)
        b_end = rng.randint(size // 2 // matrix.b_bytes, size // matrix.b_bytes + 1)
        return rocc_writes(Function.SPAD_AB, a_line, b_end)
    if choice == "places":
        c_address = DRAM_BASE + rng.randrange(0x1000) * 4
        if matrix.load_d and rng.random() < 0.5:
            d_base = rng.choice([DRAM_BASE, SHARED_BASE])
            return rocc_writes(
                Function.ADDRESSES_DC, d_base + rng.randrange(size // 8) * 4, c_address
            )
        if rng.random() < 0.3:
            return rocc_writes(Function.ADDRESSES_DC, 0, c_address)
        return rocc_writes(Function.ADDRESSES_AB, c_address, DRAM_BASE + rng.randrange(0x8000))
    if choice == "strides":
        function = rng.choice([Function.STRIDES_AB, Function.STRIDES_DC])
        return rocc_writes(function, rng.randrange(100), rng.randrange(100))
    if choice == "scale":
        scale = int(np.float32(rng.choice([1, 1, 0.3, -2])).view(np.uint32))
        control = encode(config_store, kind=ConfigKind.STORE, activation=rng.choice([0, 0, 1]))
        return rocc_writes(Function.CONFIG, control, encode(config_store_scale, scale=scale))
    if choice == "loop":
        parts = rng.choice([0x2B8, 0x238, 0x2E0, 0x78, 0x278, 0x2F8, 0x20, 0xA0])
        turn = rng.choice([0, 0, 1, 2]) if matrix.rows == matrix.columns else 0
        fields = {"accumulate": 1, "full_c": 1, "activation": 1}
        # Loads of A and B could overwrite D in shared memory, in no order.
        if matrix.load_d and parts & 0x18 == 0x18 and rng.random() < 0.7:
            parts &= ~0x20
        control = encode(loop_control, **{name: rng.randint(0, 1) for name in fields})
        row = rng.randrange(size // matrix.a_bytes)
        return rocc_writes(Function.LOOP_WS, control, parts | turn | row << 32)
    code = rng.choice([*CISC_MAPS[matrix.cisc_map], 31])
    bytes_of = [rng.randrange(16) for _ in range(3)]
    # A stride with two bytes of a word would be long; strides have commands of their own.
    if code in (8, 11):
        bytes_of = [rng.randrange(60), 0, 0]
    word = code | bytes_of[0] << 8 | bytes_of[1] << 16 | bytes_of[2] << 24
    return [(MATRIX["cisc"].offset, word)]


class DeviceBench:
    """Bench of a cluster's devices; initial bytes of DRAM and of shared memory are disjoint.

    Parameters
    ----------
    config : MachineConfig
    **options
        Options of `Devices`.

    """

    def __init__(self, config: MachineConfig, **options):
        rng = np.random.default_rng(0)
        dram = rng.integers(0, 100, DRAM_BYTES, np.uint8)
        shared = rng.integers(100, 120, config.shared.size, np.uint8)
        self.memory = SmallMemory(dram, shared)
        self.devices = Devices(config, self.memory, **options)

    def dma(self, *, start: int = 0, **values: int):
        """Write the DMA's registers, then start a descriptor."""
        for name, value in (values | {"start": start}).items():
            self.devices.write(DMA_BASE + DMA[name].offset, value)

    def dma_read(self, name: str) -> int:
        """Read a register of the DMA."""
        return self.devices.read(DMA_BASE + DMA[name].offset)

    def rocc(self, function: Function, rs1: int = 0, rs2: int = 0):
        """Issue a RoCC command."""
        for offset, data in rocc_writes(function, rs1, rs2):
            self.devices.write(MATRIX_BASE + offset, data)

    def matrix_read(self, name: str) -> int:
        """Read a register of the matrix unit."""
        return self.devices.read(MATRIX_BASE + MATRIX[name].offset)

    def loop(self, parts: int, *, rs1=0, blocks=(2, 2, 2), a_row=0, b_end=2048, c_row=0):
        """Issue LOOP_WS with its bounds and addresses; matrix rows in DRAM are 8 elements."""
        sizes = encode(bounds_sizes, **dict(zip("ijk", blocks, strict=True)))
        self.rocc(Function.BOUNDS, 0, sizes)
        self.rocc(Function.SPAD_AB, a_row, b_end)
        self.rocc(Function.ADDRESSES_AB, DRAM_BASE, DRAM_BASE + 0x1000)
        self.rocc(Function.ADDRESSES_DC, 0, DRAM_BASE + 0x2000)
        self.rocc(Function.STRIDES_AB, 8, 8)
        self.rocc(Function.STRIDES_DC, 0, 8)
        self.rocc(Function.LOOP_WS, rs1, parts | c_row << 32)
