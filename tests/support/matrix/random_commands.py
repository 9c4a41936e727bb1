"""Random command streams for a matrix unit, and their results by the instruction-set model."""

import random

import numpy as np

from spica.hw.config import DmaBlockConfig, MachineConfig, MatrixUnitConfig
from spica.hw.isa.commands import (
    FLOAT_ONE,
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
from spica.hw.isa.memory_map import DRAM_BASE, MATRIX, SHARED_BASE
from spica.kernels.elements import dtype_of
from spica.sim.golden.matrix.command.command_decoder import decode_commands
from spica.sim.iss.device.memory import DeviceMemory
from spica.sim.iss.device.systolic import SystolicDevice
from spica.sim.iss.device.work_queue import Agenda
from support.cluster.unit_register_bench import SmallMemory

__all__ = ["DRAM_BYTES", "WAIT", "CommandStream"]

#: In place of a write: wait until the unit is idle.
WAIT = (-1, 0)
#: Bytes of DRAM that a stream uses. It loads from the first half and stores to the second.
DRAM_BYTES = 1 << 16
REGISTERS = ("rs1_low", "rs1_high", "rs2_low", "rs2_high")
SKIP_D = encode(loop_parts, skip_load_d=1)
SKIP_LOADS = SKIP_D | encode(loop_parts, skip_load_a=1, skip_load_b=1)
SKIP_COMPUTE, SKIP_STORE = encode(loop_parts, skip_compute=1), encode(loop_parts, skip_store=1)
SPILL = encode(loop_parts, shared_only=1)


class CommandStream:
    """Random commands of every kind for one matrix unit, without hazards.

    Each of `units` units has its part of shared memory and its own DRAM. The part has operands in
    the first three eighths, then FP32 values for scales and D in one eighth, then a
    quarter for loads and a quarter for spills. Computes read the first half. A place for loads or
    spills is used once between two waits.

    Parameters
    ----------
    cluster : MachineConfig
    seed : int
    groups : int
        Groups of related commands; most have several commands.
    number : int
        Number of the unit.
    units : int
        Units with streams at the same time; a power of two.

    Attributes
    ----------
    base : int
        Start of its DRAM.
    origin, size : int
        First byte of its part of shared memory, and bytes.
    dram, shared : ndarray of uint8
        Its DRAM, and its part of shared memory, before the stream.
    writes : list of (byte offset, data)
        Register writes, and `WAIT`.

    """

    def __init__(
        self,
        cluster: MachineConfig,
        seed: int,
        *,
        groups: int = 6,
        number: int = 0,
        units: int = 1,
    ):
        self.config = MatrixUnitConfig.of(cluster, number)
        self.cluster, self.matrix, self.number = cluster, self.config.matrix, number
        self.rng = random.Random(seed)
        self.base = DRAM_BASE + number * DRAM_BYTES
        self.size = self.config.shared.size // units
        self.origin = number * self.size
        self.floats = self.origin + 3 * self.size // 8  # FP32 values
        self.dram, self.shared = self.contents(seed)
        self.known: dict[str, int] = {}
        self.used = {"loads": 0, "spills": 0, "stores": 0}
        self.writes: list[tuple[int, int]] = []
        self.fill_accumulator()
        kinds = (
            *(self.computes, self.split_stores, self.products, self.words, self.spills),
            *(self.settings, self.refused, self.whole, self.wait),
        )
        for _ in range(groups):
            self.rng.choice(kinds)()
        self.wait()

    def contents(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return DRAM and shared memory with operands, and with FP32 values."""
        rng = np.random.default_rng(seed)
        form = dtype_of(self.matrix.operand)

        def operands(nbytes: int) -> np.ndarray:
            if np.issubdtype(form, np.integer) and self.matrix.operand == "int8":
                return rng.integers(0, 256, nbytes, np.uint8)
            values = rng.normal(size=nbytes // form.itemsize)
            return values.astype(form).view(np.uint8)

        shared = rng.integers(0, 256, self.size, np.uint8)
        eighth = self.size // 8
        shared[: 3 * eighth] = operands(3 * eighth)
        floats = rng.normal(size=eighth // 4).astype(np.float32)
        shared[3 * eighth : 4 * eighth] = floats.view(np.uint8)
        dram = np.zeros(DRAM_BYTES, np.uint8)
        dram[: DRAM_BYTES // 2] = operands(DRAM_BYTES // 2)
        return dram, shared

    def expected(self) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
        """Return DRAM, shared memory and registers after the stream, by the model."""
        shared = np.zeros(self.config.shared.size, np.uint8)
        own = slice(self.origin, self.origin + self.size)
        shared[own] = self.shared
        memory = SmallMemory(self.dram.copy(), shared, self.base)
        agenda = Agenda("round_robin", 0)
        places = DeviceMemory(DmaBlockConfig.of(self.cluster), memory, None, self.number)
        device = SystolicDevice(self.config, agenda, places, self.number)
        names = {register.offset: name for name, register in MATRIX.items()}
        for offset, data in self.writes:
            if (offset, data) == WAIT:
                while agenda.advance():
                    pass
            else:
                device.write(names[offset], data)
        read = ("busy", "running", "computes_done", "error", "error_word")
        return memory.dram, memory.shared[own], {name: device.read(name) for name in read}

    def operations(self, config: MatrixUnitConfig) -> list[dict]:
        """Return the fields of the accepted commands."""
        writes = (write for write in self.writes if write != WAIT)
        return decode_commands(config, writes).operations

    # Register writes.

    def fire(self, function: int, rs1: int = 0, rs2: int = 0):
        """Issue a RoCC instruction; write only registers that change."""
        words = (rs1 & 0xFFFF_FFFF, rs1 >> 32, rs2 & 0xFFFF_FFFF, rs2 >> 32)
        for name, word in zip(REGISTERS, words, strict=True):
            if self.known.get(name) != word:
                self.known[name] = word
                self.writes.append((MATRIX[name].offset, word))
        self.writes.append((MATRIX["instruction"].offset, rocc_word(function)))

    def word(self, name: str, **fields: int):
        """Issue a CISC command word."""
        data = encode_cisc(self.matrix.cisc_map, name, **fields)
        self.writes.append((MATRIX["cisc"].offset, data))

    def wait(self):
        """Wait until the unit is idle; places of loads and spills are free again."""
        self.writes.append(WAIT)
        self.used["loads"] = self.used["spills"] = 0

    def place(self, kind: str, nbytes: int, align: int) -> int:
        """Return the offset of an unused place in the region of `kind`; wait if there is none."""
        start, room = {
            "loads": (self.origin + self.size // 2, self.size // 4),
            "spills": (self.origin + 3 * self.size // 4, self.size // 4),
            "stores": (DRAM_BYTES // 2, DRAM_BYTES // 2),
        }[kind]
        first = -(-self.used[kind] // align) * align
        if first + nbytes > room:
            assert nbytes <= room
            self.wait()
            first = self.used[kind] = 0
        self.used[kind] = first + nbytes
        return start + first

    # State.

    def fill_accumulator(self):
        """Define all rows of the accumulator."""
        m, n, _ = self.matrix.tile
        blocks = (m // self.matrix.rows, n // self.matrix.columns, 1)
        rows = blocks[0] * blocks[1] * self.matrix.rows
        self.bounds(blocks)
        self.operands()
        for base in range(0, self.matrix.accumulator_rows - rows + 1, rows):
            self.fire(Function.ACCUMULATOR, base)
            self.loop(SKIP_STORE | SKIP_LOADS)

    def bounds(self, blocks, pads=(0, 0, 0)):
        """Set the blocks along I, J, K and the padding of the last of each."""
        self.blocks, self.pads = blocks, pads
        self.fire(
            Function.BOUNDS,
            encode(bounds_pads, **dict(zip("ijk", pads, strict=True))),
            encode(bounds_sizes, **dict(zip("ijk", blocks, strict=True))),
        )

    def shape(self, largest=(3, 3, 2)):
        """Set random bounds with random pads; return the accumulator rows."""
        rows, columns = self.matrix.rows, self.matrix.columns
        while True:
            blocks = [self.rng.randint(1, most) for most in largest]
            if (used := blocks[0] * blocks[1] * rows) <= self.matrix.accumulator_rows:
                break
        pads = [
            self.rng.choice([0, self.rng.randrange(extent)]) for extent in (rows, columns, rows)
        ]
        self.bounds(tuple(blocks), tuple(pads))
        return used

    def accumulator(self, rows: int):
        """Set a random first row of the accumulator, and a place of scales."""
        base = self.rng.choice([0, self.rng.randrange(self.matrix.accumulator_rows - rows + 1)])
        self.fire(Function.ACCUMULATOR, base, self.floats // self.matrix.a_bytes)

    def operands(self):
        """Set the operands of a compute without loads to random places of the first half."""
        i, j, k = self.blocks
        matrix, rows = self.matrix, self.matrix.rows
        room = 3 * self.size // 8
        a_lines, b_lines = i * k * rows, k * j * rows
        a = self.origin // matrix.a_bytes + self.rng.randrange(room // matrix.a_bytes - a_lines + 1)
        b = self.origin // matrix.b_bytes + self.rng.randrange(room // matrix.b_bytes - b_lines + 1)
        self.fire(Function.SPAD_AB, a, b + b_lines)

    def loop(self, parts: int, *, c_row: int = 0, **control: int):
        """Issue a LOOP_WS."""
        self.fire(Function.LOOP_WS, encode(loop_control, **control), parts | c_row << 32)

    def options(self) -> dict[str, int]:
        """Return random options of a compute that this unit has."""
        control = {"accumulate": self.rng.randrange(2)}
        if self.matrix.scales_rows and control["accumulate"]:
            height = self.blocks[0] * self.matrix.rows - self.pads[0]
            if height <= self.matrix.tile[0]:
                control["scale_rows"] = self.rng.randrange(2)
        return control

    def transposes(self) -> int:
        """Return the transpose bits of a compute."""
        if self.matrix.rows != self.matrix.columns:
            return 0
        is_free = self.matrix.dataflow == "weight_stationary"
        return self.rng.choice([0, 0, 1, 2 * is_free])

    def store_options(self) -> dict[str, int]:
        """Return random options of a store."""
        return {"full_c": self.rng.randrange(2), "activation": self.rng.randrange(2)}

    def addresses(self, d: int = 0) -> None:
        """Set an unused place in DRAM, at any byte, for C; and the address of D."""
        width = self.blocks[1] * self.matrix.columns
        pitch = width + self.rng.choice([0, self.rng.randrange(9)])
        room = self.blocks[0] * self.matrix.rows * pitch * 4
        c = self.base + self.place("stores", room + 4, 4) + self.rng.randrange(4)
        self.fire(Function.STRIDES_DC, width if d else 0, pitch)
        self.fire(Function.ADDRESSES_DC, d, c)

    # Groups of commands.

    def computes(self):
        """Add computes of one shape, one after the other, and perhaps a store of their rows."""
        rows = self.shape()
        self.accumulator(rows)
        for number in range(self.rng.randint(1, 6)):
            if number == 0 or self.rng.random() < 0.3:
                self.operands()
            if self.rng.random() < 0.2:
                self.accumulator(rows)
            self.loop(SKIP_STORE | SKIP_LOADS | self.transposes(), **self.options())
        if self.rng.random() < 0.7:
            self.addresses()
            self.loop(SKIP_LOADS | SKIP_COMPUTE, **self.store_options())

    def split_stores(self):
        """Add rounds of a compute and of stores of its column blocks with fewer rows."""
        rows = self.matrix.rows
        i, j = self.rng.randint(1, 3), self.rng.randint(2, 6)
        while i * j * rows > self.matrix.accumulator_rows:
            j -= 1
        height = self.rng.randint(1, i * rows)
        blocks = -(-height // rows)
        for _ in range(self.rng.randint(2, 3)):
            self.bounds((i, j, 1), (0, 0, self.rng.randrange(rows)))
            self.fire(Function.ACCUMULATOR, 0)
            self.operands()
            self.loop(SKIP_STORE | SKIP_LOADS, accumulate=self.rng.randrange(2))
            self.bounds((blocks, 1, 1), (blocks * rows - height, 0, 0))
            self.addresses()
            options = self.store_options()
            for column in range(self.rng.choice([j, self.rng.randint(1, j)])):
                self.fire(Function.ACCUMULATOR, column * i * rows)
                if self.rng.random() < 0.2:
                    self.addresses()
                self.loop(SKIP_LOADS | SKIP_COMPUTE, **options)

    def products(self):
        """Add commands that load, compute, and perhaps store, some of them with D."""
        for _ in range(self.rng.randint(1, 3)):
            rows = self.shape((2, 2, 2))
            self.accumulator(rows)
            control, d = {"accumulate": self.rng.randrange(2)}, 0
            if self.matrix.load_d and self.rng.random() < 0.6:
                d = self.rng.choice([self.base, SHARED_BASE + self.floats])
                control = {"accumulate": 1}
            self.addresses(d)  # it may wait, which frees places of loads
            parts = self.load_operands()
            if parts is None:
                return
            parts |= 0 if d else SKIP_D
            parts |= self.rng.choice([0, SKIP_STORE])
            self.loop(parts, **control, **self.store_options())

    def load_operands(self) -> int | None:
        """Set places of loads and their sources; return the parts, or None without loads."""
        matrix, (i, j, k) = self.matrix, self.blocks
        if min(matrix.rows, matrix.columns) * matrix.operand_bytes < 4:
            return None
        rows, a_bytes, b_bytes = matrix.rows, matrix.a_bytes, matrix.b_bytes
        align = max(a_bytes, b_bytes)
        a = self.place("loads", i * k * rows * a_bytes, align)
        b = self.place("loads", k * j * rows * b_bytes, align)
        if b <= a:  # a wait between the two freed the place of A
            self.used["loads"] = 0
            a = self.place("loads", i * k * rows * a_bytes, align)
            b = self.place("loads", k * j * rows * b_bytes, align)
        self.fire(Function.SPAD_AB, a // a_bytes, b // b_bytes + k * j * rows)
        width = max(i, k) * rows, max(j * matrix.columns, k * rows)
        strides = [row_bytes + self.rng.randrange(5) for row_bytes in width]
        self.fire(Function.STRIDES_AB, *strides)
        starts = [self.base + self.rng.randrange(1024) * matrix.operand_bytes for _ in "ab"]
        self.fire(Function.ADDRESSES_AB, *starts)
        return self.transposes()

    def spills(self):
        """Add stores to shared memory, with or without a compute."""
        rows = self.shape((2, 2, 1))
        self.accumulator(rows)
        self.operands()
        for _ in range(self.rng.randint(1, 4)):
            nbytes = rows * self.matrix.columns * self.matrix.wide_bytes
            place = self.place("spills", nbytes, max(self.matrix.a_bytes, 4))
            computes = self.rng.choice([0, SKIP_COMPUTE])
            self.loop(
                SKIP_LOADS | SPILL | computes,
                c_row=place // self.matrix.a_bytes,
                **self.store_options(),
            )

    def words(self):
        """Add CISC command words one after the other: the queues are full."""
        if self.matrix.cisc_map != "current":
            return
        m, n, _ = self.matrix.tile
        self.blocks = (m // self.matrix.rows, n // self.matrix.columns, 1)
        self.addresses()
        self.word("config")
        sixteenth = self.config.shared.size // 16
        first, last = self.origin // sixteenth, self.floats // sixteenth - 1
        for _ in range(self.rng.randint(2, 8)):
            name = self.rng.choice(["compute", "compute", "store", "nothing", "config"])
            operands = {"a": first, "b": last, "c": self.rng.randrange(2)}
            self.word(name, **(operands if name == "compute" else {}))

    def whole(self):
        """Add commands that compute and store the tile of a CISC word."""
        m, n, _ = self.matrix.tile
        self.bounds((m // self.matrix.rows, n // self.matrix.columns, 1))
        self.fire(Function.ACCUMULATOR, 0)
        self.operands()
        self.addresses()
        for _ in range(self.rng.randint(1, 3)):
            self.loop(SKIP_LOADS, accumulate=self.rng.randrange(2), **self.store_options())

    def settings(self):
        """Set scale and activation of later stores."""
        scale = FLOAT_ONE
        if self.matrix.scales:
            scale = self.rng.choice([FLOAT_ONE, 0x3F00_0000, 0xC040_0000])
        kind = encode(config_store, kind=ConfigKind.STORE, activation=self.rng.randrange(2))
        self.fire(Function.CONFIG, kind, encode(config_store_scale, scale=scale))

    def refused(self):
        """Add a refused command, or one without effect, and a command of no part."""
        self.fire(*self.rng.choice([(127, 0, 0), (Function.LOOP_WS, 0, 4), (Function.FLUSH, 0, 0)]))
        self.loop(SKIP_LOADS | SKIP_COMPUTE | SKIP_STORE)
