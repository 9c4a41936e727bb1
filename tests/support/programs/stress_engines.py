"""Random jobs of the DMA and of matrix units in a stress program, with their own data."""

import random
from dataclasses import dataclass

from spica.hw.config import MachineConfig
from spica.hw.config.arithmetic import ARITHMETIC
from spica.hw.isa.commands import COMPUTE, SPILL, STORE, Function, rocc_word
from spica.hw.isa.memory_map import DMA, MATRIX, SHARED_BASE, numbered, unit_bases
from support.programs.stress_regions import Place, Territory

__all__ = ["Errand", "dma_errand", "matrix_errand"]

#: Bits of LOOP_WS that skip the loads of A and of B.
SKIP_A, SKIP_B = 8, 16
ACCUMULATE, WIDE, RELU = 1, 2, 0x100
#: Maximum share of a memory claimed by engines; threads get the rest.
CLAIMED = 0.6


@dataclass
class Errand:
    """Commands of one thread to one unit: register stores in steps, and the final wait.

    ``steps`` are (offset, value) of registers, with offset None for a command word. ``told`` are
    registers with deterministic contents afterwards. ``descriptors`` is the number of jobs.
    """

    base: int
    steps: list[list[tuple[int | None, int]]]
    running: int
    reported: list[int]
    descriptors: int = 0


def dma_errand(
    config: MachineConfig, port: int, descriptors: int, shared: Territory, dram: Territory
) -> Errand:
    """Return loads and stores of a DMA port, with rows of any length at any address."""
    rng = shared.rng
    base = unit_bases(len(config.units))[numbered("dma", port)]
    reported = ["dram", "dram_pitch", "local", "local_pitch", "shape", "fill"]
    reported += ["loads_done", "stores_done", "error"]
    errand = Errand(base, [], DMA["running"].offset, [DMA[name].offset for name in reported])
    for _ in range(descriptors):
        if max(shared.claimed, dram.claimed) > CLAIMED:
            break
        is_store = rng.random() < 0.5
        rows, width = rng.choice(((1, 150), (3, 40), (12, 9), (16, 3)))
        rows, width = rng.randint(1, rows), rng.randint(1, width)
        fill_rows, fill_width = 0, 0
        if not is_store and rng.random() < 0.4:
            fill_rows, fill_width = rows + rng.randrange(3), width + rng.randrange(6)
        high, wide = max(rows, fill_rows), max(width, fill_width)
        near_pitch, far_pitch = wide + rng.randrange(24), width + rng.randrange(40)
        near = shared.claim(near_pitch, high, wide, writes=not is_store)
        far = near and dram.claim(far_pitch, rows, width, writes=is_store)
        if near is None or far is None:
            continue
        fields = {
            "dram": far.start, "dram_pitch": far_pitch, "local": near.start - SHARED_BASE,
            "local_pitch": near_pitch, "shape": rows | width << 16,
            "fill": fill_rows | fill_width << 16, "start": int(is_store),
        }  # fmt: skip
        errand.steps.append([(DMA[name].offset, value) for name, value in fields.items()])
        errand.descriptors += 1
    return errand


def rocc(function: Function, rs1: int, rs2: int) -> list[tuple[int | None, int]]:
    """Return the stores that issue a RoCC instruction to a matrix unit."""
    operands = {"rs1": rs1, "rs2": rs2}
    halves: list[tuple[int | None, int]] = [
        (MATRIX[f"{name}_{half}"].offset, value >> shift & 0xFFFF_FFFF)
        for name, value in operands.items()
        for half, shift in (("low", 0), ("high", 32))
    ]
    return [*halves, (MATRIX["instruction"].offset, rocc_word(function))]


class MatrixErrand:
    """Computes of one size on tiles anywhere, with stores and spills of their results.

    Parameters
    ----------
    config : MachineConfig
    number : int
        Index of the unit.
    shared, dram : Territory

    """

    def __init__(self, config: MachineConfig, number: int, shared: Territory, dram: Territory):
        self.matrix = config.units[number]
        self.number, self.shared, self.dram = number, shared, dram
        self.rng: random.Random = shared.rng
        base = unit_bases(len(config.units))[numbered("matrix", number)]
        reported = [MATRIX[name].offset for name in ("error", "computes_done", "rs2_low")]
        self.errand = Errand(base, [], MATRIX["running"].offset, reported)
        rows, columns = self.matrix.rows, self.matrix.columns
        units = (rows, columns, rows)
        self.sizes = [self.rng.randint(1, 5 * unit // 2) for unit in units]
        most = self.matrix.accumulator_rows // (-(-self.sizes[1] // columns))
        self.sizes[0] = min(self.sizes[0], most // rows * rows)
        self.blocks = [-(-size // unit) for size, unit in zip(self.sizes, units, strict=True)]
        pads = [n * unit - s for n, unit, s in zip(self.blocks, units, self.sizes, strict=True)]
        bounds = [i | j << 16 | k << 32 for i, j, k in (pads, self.blocks)]
        self.errand.steps.append(rocc(Function.BOUNDS, *bounds))

    def ragged(self, extent: int, unit: int, access: int) -> int:
        """Return the bytes from the first element of a row to its last."""
        blocks, last = divmod(extent - 1, unit)
        return blocks * access + (last + 1) * self.matrix.operand_bytes

    def tile(self, name: str) -> tuple[Place, Place | None] | None:
        """Claim a tile in shared memory and, at random, its source in DRAM."""
        matrix, (m, n, k), (i, j, depth) = self.matrix, self.sizes, self.blocks
        rows, width, blocks, unit, access, high = {
            "a": (m, k, depth, matrix.rows, matrix.a_bytes, i * matrix.rows),
            "b": (k, n, j, matrix.columns, matrix.b_bytes, depth * matrix.rows),
        }[name]
        pitch, loads = blocks * access, self.rng.random() < 0.4
        if not loads:
            length = self.ragged(width, unit, access)
            place = self.shared.claim(pitch, rows, length, writes=False, multiple=access)
            return place and (place, None)
        place = self.shared.claim(pitch, high, pitch, writes=True, multiple=access)
        length = width * matrix.operand_bytes
        stride = length + matrix.operand_bytes * self.rng.randrange(12)
        source = place and self.dram.claim(stride, rows, length, writes=False)
        return place and source and (place, source)

    def compute(self, accumulate: bool) -> bool:
        """Add a compute, with or without loads of its tiles; return True if there was room."""
        a, b = self.tile("a"), self.tile("b")
        if a is None or b is None:
            return False
        matrix, (_, j, k) = self.matrix, self.blocks
        a_line = (a[0].start - SHARED_BASE) // matrix.a_bytes
        b_line = (b[0].start - SHARED_BASE) // matrix.b_bytes
        steps = rocc(Function.SPAD_AB, a_line, b_line + k * matrix.rows * j)
        sources = [place or Place(0, 0, 1, 1) for place in (a[1], b[1])]
        steps += rocc(Function.ADDRESSES_AB, *(place.start for place in sources))
        strides = (place.pitch // matrix.operand_bytes for place in sources)
        steps += rocc(Function.STRIDES_AB, *strides)
        parts = COMPUTE ^ (SKIP_A if a[1] else 0) ^ (SKIP_B if b[1] else 0)
        steps += rocc(Function.LOOP_WS, ACCUMULATE if accumulate else 0, parts)
        self.errand.steps.append(steps)
        self.errand.descriptors += 1
        return True

    def results(self) -> None:
        """Add a store or a spill of the results, if there is room."""
        matrix, (m, n, _), rng = self.matrix, self.sizes, self.rng
        arithmetic = ARITHMETIC[matrix.operand]
        options = rng.choice((0, WIDE)) | rng.choice((0, 0, RELU))
        is_wide = options & WIDE or arithmetic.narrow == arithmetic.accumulator
        element = 4 if is_wide else 2
        if rng.random() < 0.5:
            pitch = self.blocks[1] * matrix.columns * element
            place = self.shared.claim(pitch, m, n * element, writes=True, multiple=matrix.a_bytes)
            line = place and (place.start - SHARED_BASE) // matrix.a_bytes
            steps = [] if line is None else rocc(Function.LOOP_WS, options, SPILL | line << 32)
        else:
            stride = n + rng.randrange(8)
            place = self.dram.claim(stride * element, m, n * element, writes=True)
            steps = [] if place is None else self.stores(place.start, stride, options)
        if steps:
            self.errand.steps.append(steps)
            self.errand.descriptors += 1

    def stores(self, address: int, stride: int, options: int) -> list[tuple[int | None, int]]:
        """Return a store to DRAM; a command word sets its stride, ordered with the rest."""
        word = 11 | self.number << 5 | stride << 20
        by_word = self.matrix.cisc_map == "current"
        steps: list[tuple[int | None, int]] = [(None, word)]
        steps = steps if by_word else rocc(Function.STRIDES_DC, 0, stride)
        steps += rocc(Function.ADDRESSES_DC, 0, address)
        return steps + rocc(Function.LOOP_WS, options, STORE)


def matrix_errand(
    config: MachineConfig, number: int, commands: int, shared: Territory, dram: Territory
) -> Errand:
    """Return computes of a matrix unit, with and without loads, and stores and spills."""
    matrix = MatrixErrand(config, number, shared, dram)
    computed = False
    for _ in range(commands):
        if max(shared.claimed, dram.claimed) > CLAIMED:
            break
        computed |= matrix.compute(computed and shared.rng.random() < 0.5)
        if computed and shared.rng.random() < 0.8:
            matrix.results()
    return matrix.errand
