"""Programs in which all agents access the same lines of DRAM at the same time.

Every thread has its own cells of a word, a half and bytes, between those of other threads and those
that the DMA writes. It counts in them, and reads any cell. A warp's reads of its own cells are
exact. A read of another cell may return any count between the last barrier of all and the next, but
not less than the thread has already read there.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from spica.hw.config import MachineConfig
from spica.hw.isa.memory_map import DMA, DMA_BASE, SHARED_BASE
from spica.sim.iss.program_bench import END, START
from support.programs.placed_program import PlacedProgram
from support.programs.stress_regions import Place, Territory

__all__ = ["LOG", "Burst", "MemoryRaces", "Read"]

FIELD, TABLE, LOG = 0x8010_0000, 0x8020_0000, 0x8030_0000
#: Bytes of a thread's cells; the DMA writes bytes as well.
SIZES = (4, 2, 1, 1)
OF_DMA = len(SIZES)
OWN, COUNTS = ("a0", "a1", "a2", "a3"), ("s2", "s3", "s4", "s5")
READ = ("a4", "a5", "a6", "a7", "s7", "s8")
LOADED = tuple(f"t{n}" for n in range(1, 7))
LOADS, STORES = {4: "lw", 2: "lhu", 1: "lbu"}, {4: "sw", 2: "sh", 1: "sb"}
#: Accesses of a burst, and maximum number of its repetitions.
OPERATIONS, ROUNDS = 24, 6


@dataclass(frozen=True)
class Read:
    """A load in a burst: address register, kind of cell, and preceding stores."""

    row: int
    kind: int
    stores: int


@dataclass
class Burst:
    """Accesses repeated by all warps; counts of cells at the start, and increments per round."""

    epoch: int
    rounds: int
    counts: tuple[int, ...]
    stores: tuple[int, ...] = ()
    reads: list[Read] = field(default_factory=list)
    targets: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))


class MemoryRaces:
    """Memory race program.

    Parameters
    ----------
    config : MachineConfig
        With cores and a DMA.
    seed : int
    epochs : int
        Number of barriers of all warps.
    bursts : int
        Per epoch.
    lines : int
        Number of 64-byte lines with cells.

    Attributes
    ----------
    program : PlacedProgram
    written : list of Burst
    ends : list of tuple of int
        Counts of the cells at the start of each epoch, and at the end.
    accesses : int
        Loads and stores of threads to cells.

    """

    def __init__(
        self, config: MachineConfig, seed: int, *, epochs: int = 3, bursts: int = 3, lines: int = 24
    ):
        core = config.core
        assert core is not None
        self.config, self.core = config, core
        self.rng = random.Random(seed)
        self.epochs, self.size = epochs, 64 * lines
        self.warps = config.cores * core.warps
        self.harts = self.warps * core.threads
        self.near = SHARED_BASE + config.shared.size // 2
        self.first = np.frombuffer(self.rng.randbytes(self.size), np.uint8).copy()
        self.pieces = np.zeros((self.harts, len(SIZES)), np.int64)
        self.of_dma: list[Place] = []
        self.divide()
        self.counts = [0] * len(SIZES)
        self.written: list[Burst] = []
        self.ends: list[tuple[int, ...]] = []
        self.tables: list[np.ndarray] = []
        self.accesses, self.logged, self.labels = 0, 0, 0
        lines_of = list(self.lines(bursts))
        head = self.head()
        tables = [self.pieces.T, *self.tables]
        table = b"".join(part.astype(np.uint32).tobytes() for part in tables)
        size = 4 * self.harts * self.logged
        self.program = PlacedProgram(
            "\n".join([*head, *lines_of]),
            ((FIELD, self.first.tobytes()), (TABLE, table)),
            ((FIELD, self.size), (TABLE, len(table)), (LOG, max(4, size))),
        )

    def divide(self) -> None:
        """Assign rows of few bytes to the DMA, and cells to each thread, across all lines."""
        rng, territory = self.rng, Territory(FIELD, self.size, self.rng)
        while len(self.of_dma) < 2:
            width, rows = rng.randint(1, 7), 8
            place = territory.claim(self.size // 9 + rng.randrange(8), rows, width, writes=True)
            if place is not None:
                self.of_dma.append(place)
        for kind, size in enumerate(SIZES):
            for hart in range(self.harts):
                place = None
                while place is None:
                    place = territory.claim(size, 1, size, writes=True, multiple=size)
                self.pieces[hart, kind] = place.start
        for at in self.pieces.ravel().tolist() + [at for p in self.of_dma for at in p.bytes]:
            self.first[at - FIELD] = 0
        for kind, size in enumerate(SIZES):
            for at in self.pieces[:, kind] - FIELD:
                self.first[at : at + size] = 0

    def head(self) -> Iterator[str]:
        """Yield the start of the program; needs the size of each thread's log."""
        yield START
        yield f"csrr s11, mhartid\nslli t0, s11, 2\nli s0, {TABLE}\nadd s0, s0, t0"
        yield f"li t0, {4 * self.logged}\nmul t0, t0, s11\nli s1, {LOG}\nadd s1, s1, t0"
        yield f"srli s9, s11, {self.core.threads.bit_length() - 1}"
        yield from (f"lw {own}, {4 * self.harts * n}(s0)" for n, own in enumerate(OWN))
        yield from (f"li {count}, 0" for count in COUNTS)
        yield f"li s10, {SHARED_BASE + self.config.shared.size + DMA_BASE}"

    def of_dma_at(self, epoch: int) -> int:
        """Return the count in the DMA's cells at the start of an epoch."""
        return (epoch + 1) // 2

    def label(self) -> str:
        """Return a new label."""
        self.labels += 1
        return f"label{self.labels}"

    def lines(self, bursts: int) -> Iterator[str]:
        """Yield the rest of the program."""
        yield from self.synchronize()
        for epoch in range(self.epochs):
            self.ends.append((*self.counts, self.of_dma_at(epoch)))
            yield from self.command(epoch)
            for _ in range(bursts):
                yield from self.burst(epoch)
            yield from self.finish()
            yield from self.synchronize()
        self.ends.append((*self.counts, self.of_dma_at(self.epochs)))
        yield f"li gp, 0{END}"

    def synchronize(self) -> Iterator[str]:
        """Yield a barrier of all warps with fences, so that each sees earlier stores of others."""
        yield f"fence rw, rw\nli t0, 1\nli t1, {self.core.warps}\nvx_bar t0, t1\nfence rw, rw"

    def only(self, warp: int, lines: list[str]) -> Iterator[str]:
        """Yield code for the first thread of a warp alone."""
        label = self.label()
        yield f"li t0, {warp}\nbne s9, t0, {label}\nli t0, 1\nvx_tmc t0"
        yield from lines
        yield f"li t0, -1\nvx_tmc t0\n{label}: nop"

    def command(self, epoch: int) -> Iterator[str]:
        """Yield a DMA command that writes its cells, or reads all lines."""
        number = 0x0101_0101 * (self.of_dma_at(epoch) + 1)
        lines = [f"li t0, {number & 0xFFFF_FFFF}", f"li t1, {self.near}"]
        lines += [f"sw t0, {4 * n}(t1)" for n in range(16)] + ["fence rw, rw"]
        descriptors = [(place, 8, self.near, 1) for place in self.of_dma]
        if epoch % 2:  # not both: DMA reads and writes are not ordered
            descriptors = [(Place(FIELD, 0, 1, self.size), 0, self.near + 64, 0)]
        for place, pitch, near, is_store in descriptors:
            values = {
                "dram": place.start, "dram_pitch": place.pitch, "local": near - SHARED_BASE,
                "local_pitch": pitch, "shape": place.width << 16 | place.rows, "fill": 0,
                "start": is_store,
            }  # fmt: skip
            for name, value in values.items():
                lines += [f"li t0, {value}", f"sw t0, {DMA[name].offset}(s10)"]
        yield from self.only(self.rng.randrange(self.warps), lines)

    def finish(self) -> Iterator[str]:
        """Yield a wait for the DMA."""
        label = self.label()
        poll = [f"{label}: lw t0, {DMA['running'].offset}(s10)", f"bnez t0, {label}"]
        yield from self.only(self.rng.randrange(self.warps), poll)

    def burst(self, epoch: int) -> Iterator[str]:
        """Yield repeated accesses of all threads, and record them."""
        rng = self.rng
        kinds = [rng.choice([*range(len(SIZES)), OF_DMA]) for _ in READ]
        burst = Burst(epoch, rng.randint(1, ROUNDS), tuple(self.counts))
        burst.targets = self.choose(kinds)
        yield f"li t0, {4 * self.harts * (len(SIZES) + len(READ) * len(self.tables))}"
        yield "add t0, s0, t0"
        yield from (f"lw {read}, {4 * self.harts * n}(t0)" for n, read in enumerate(READ))
        self.tables.append(burst.targets)
        label = self.label()
        yield f"li s6, {burst.rounds}\n{label}: nop"
        waiting: dict[str, None] = {}
        logged, stores = 0, [0] * len(SIZES)
        order: list[Read] = []
        for _ in range(OPERATIONS):
            choice = rng.random()
            if choice < 0.05:
                yield "fence rw, rw"
            elif choice < 0.45:
                kind = rng.randrange(len(SIZES))
                stores[kind] += 1
                yield f"addi {COUNTS[kind]}, {COUNTS[kind]}, 1"
                yield f"{STORES[SIZES[kind]]} {COUNTS[kind]}, 0({OWN[kind]})"
            else:
                row = rng.randrange(len(READ))
                target = LOADED[len(order) % len(LOADED)]
                if target in waiting:
                    yield f"sw {target}, {4 * logged}(s1)"
                    del waiting[target]
                    logged += 1
                kind = kinds[row]
                size = 1 if kind == OF_DMA else SIZES[kind]
                yield f"{LOADS[size]} {target}, 0({READ[row]})"
                waiting[target] = None
                order.append(Read(row, kind, 0 if kind == OF_DMA else stores[kind]))
        for target in waiting:
            yield f"sw {target}, {4 * logged}(s1)"
            logged += 1
        yield f"addi s1, s1, {4 * logged}\naddi s6, s6, -1\nbnez s6, {label}"
        assert logged == len(order)
        burst.reads, burst.stores = order, tuple(stores)
        self.counts = [c + burst.rounds * s for c, s in zip(self.counts, stores, strict=True)]
        self.written.append(burst)
        self.logged += burst.rounds * logged
        self.accesses += burst.rounds * self.harts * (len(order) + sum(stores))

    def choose(self, kinds: list[int]) -> np.ndarray:
        """Return the cell addresses that each thread reads, by register."""
        rng, dma = self.rng, [int(at) for place in self.of_dma for at in place.bytes]
        return np.array([
            [
                rng.choice(dma) if kind == OF_DMA else self.pieces[rng.randrange(self.harts), kind]
                for _ in range(self.harts)
            ]
            for kind in kinds
        ])
