"""Deterministic stress programs: cores, DMA and matrix units are busy in the same words.

In an epoch the bytes of a region of shared memory and of DRAM are assigned at random. Data that
the DMA and the matrix units load, store, multiply, spill and drain lies between the bytes of
threads. Threads access their own bytes, and load bytes that nothing writes. Groups of warps meet
at their own barriers and exchange their bytes. At the end of the epoch the threads that command an
engine wait for it, and all warps meet; then bytes are assigned anew.
"""

import random
from dataclasses import dataclass
from functools import reduce
from operator import itemgetter

import numpy as np

from spica.hw.config import DmaBlockConfig, MachineConfig
from spica.hw.isa.memory_map import DMA, MATRIX, SHARED_BASE, unit_bases
from spica.sim.iss.program_bench import END, START
from support.programs.placed_program import PlacedProgram
from support.programs.stress_accesses import PLACES, Use, accesses, fold
from support.programs.stress_engines import Errand, dma_errand, matrix_errand
from support.programs.stress_regions import SIZES, Granules, Territory

__all__ = ["DUMP", "FIELD", "OUT", "ClusterStress", "Effort"]

#: Addresses: the assigned region of DRAM; initial and final contents of shared memory; addresses
#: for each thread; results of each thread's loads, by epoch.
FIELD, FIRST, DUMP, TABLE, OUT = (0x8010_0000 + 0x10_0000 * k for k in range(5))
MULTIPLIER = 0x9E37_79B1
#: Maximum number of times that a thread repeats its accesses to the same addresses.
ROUNDS = 8


@dataclass
class Effort:
    """Work of a program: accesses of threads, except to their tables, engine jobs, barriers."""

    accesses: int = 0
    descriptors: int = 0
    barriers: int = 0


class ClusterStress:
    """Stress program for a cluster, from a seed.

    Parameters
    ----------
    config : MachineConfig
        With cores; warps and threads are powers of two.
    seed : int
    epochs : int
        Number of times that bytes are assigned.
    bursts : int
        Maximum blocks of a thread's work between two barriers, each of `operations` accesses.
    operations : int
    field : int
        Bytes assigned in shared memory, around its middle, and in DRAM; a multiple of the words
        of all threads.
    dram : bool
        True if threads have bytes only in DRAM, and engines alone use shared memory.

    Attributes
    ----------
    effort : Effort
    program : PlacedProgram

    """

    def __init__(
        self,
        config: MachineConfig,
        seed: int,
        *,
        epochs: int = 4,
        bursts: int = 4,
        operations: int = 16,
        field: int = 3072,
        dram: bool = False,
    ):
        core = config.core
        assert core is not None
        self.config, self.core = config, core
        self.rng = random.Random(seed)
        self.bursts, self.operations, self.dram = bursts, operations, dram
        self.warps = config.cores * core.warps
        self.harts = self.warps * core.threads
        self.field = field - field % (4 * self.harts)
        self.near = SHARED_BASE + (config.shared.size - self.field) // 2 // 64 * 64
        #: Address of the unit registers as seen by cores.
        self.window = SHARED_BASE + config.shared.size
        self.effort = Effort()
        self.lines: list[str] = []
        self.tables: list[np.ndarray] = []
        self.labels = 0
        self.write(epochs)
        self.program = self.place(epochs)

    def add(self, *lines: str) -> None:
        """Add instructions."""
        self.lines += lines

    def label(self) -> str:
        """Return a new label."""
        self.labels += 1
        return f"label{self.labels}"

    def write(self, epochs: int) -> None:
        """Write the whole program."""
        self.add(START, "csrr s11, mhartid", f"li s5, {MULTIPLIER}", "mul s4, s11, s5")
        self.add("addi s4, s4, 77", "mv s3, s4", "slli s8, s11, 2")
        self.add(f"srli s9, s11, {self.core.thread_width}", "csrr s10, warp_id")
        self.add(f"li s0, {TABLE}", "add s0, s0, s8")
        self.copy(FIRST, self.near)
        self.synchronize(self.config.barriers - 1)
        for epoch in range(epochs):
            self.epoch()
            self.add(f"li t0, {OUT + 4 * self.harts * epoch}", "add t0, t0, s8", "sw s4, 0(t0)")
        self.copy(self.near, DUMP)
        self.add("li gp, 0", END)

    def copy(self, source: int, target: int) -> None:
        """Add a copy of the shared-memory region by all threads, one word each at a time."""
        label, step = self.label(), 4 * self.harts
        self.add(f"li s1, {source}", "add s1, s1, s8", f"li s2, {target}", "add s2, s2, s8")
        self.add(f"li t1, {self.field // step}", f"li t2, {step}", f"{label}: lw t0, 0(s1)")
        self.add("sw t0, 0(s2)", "add s1, s1, t2", "add s2, s2, t2", "addi t1, t1, -1")
        self.add(f"bnez t1, {label}")

    def synchronize(self, barrier: int) -> None:
        """Add a barrier of all warps of all cores, as in `spica_barrier`."""
        self.add("fence rw, rw", *bar(barrier, self.core.warps))
        if self.config.barrier_scope == "core" and self.config.cores > 1:
            label = self.label()
            self.add(f"bnez s10, {label}", *bar(barrier | 1 << 31, self.config.cores))
            self.add(f"{label}: nop", *bar(barrier, self.core.warps))
        self.effort.barriers += 1

    def epoch(self) -> None:
        """Add an epoch: assign bytes, let all threads and engines work, and meet."""
        rng, core = self.rng, self.core
        shared = Territory(self.near, self.field, rng)
        dram = Territory(FIELD, self.field, rng)
        errands = self.errands(shared, dram)
        self.effort.descriptors += sum(errand.descriptors for errand in errands)
        used = [dram] if self.dram else [shared, dram]
        granules = reduce(Granules.beside, [part.share(self.harts) for part in used])
        warps = rng.sample(range(core.warps), core.warps)
        cuts = sorted(rng.sample(range(1, core.warps), rng.randrange(min(3, core.warps))))
        groups = [warps[a:b] for a, b in zip([0, *cuts], [*cuts, core.warps], strict=True)]
        barriers = rng.sample(range(self.config.barriers), len(groups) + 1)
        drivers = [(rng.randrange(self.warps), errand) for errand in errands]
        end = self.label()
        for group, barrier in zip(groups, barriers, strict=False):
            following = self.label()
            mask = sum(1 << warp for warp in group)
            here = self.label()
            self.add(f"li t0, {mask}", "srl t0, t0, s10", "andi t0, t0, 1")
            self.add(f"bnez t0, {here}", f"j {following}", f"{here}: nop")
            of_group = [(warp, errand) for warp, errand in drivers if warp % core.warps in group]
            self.group(group, barrier, granules, of_group)
            self.add(f"j {end}", f"{following}: nop")
        self.add(f"{end}: nop")
        self.synchronize(barriers[-1])

    def errands(self, shared: Territory, dram: Territory) -> list[Errand]:
        """Return the jobs of the engines in an epoch."""
        config, rng = self.config, self.rng
        chosen = [matrix_errand(config, n, 3, shared, dram) for n, _ in enumerate(config.units)]
        ports = range(DmaBlockConfig.of(config).ports)
        chosen += [dma_errand(config, n, 8, shared, dram) for n in ports]
        rng.shuffle(chosen)
        return chosen

    def group(
        self,
        group: list[int],
        barrier: int,
        granules: Granules,
        drivers: list[tuple[int, Errand]],
    ) -> None:
        """Add the work of a group of warps in an epoch; some of them command engines."""
        rng, rounds = self.rng, self.rng.randint(1, 3)
        lanes = {id(errand): rng.randrange(self.core.threads) for _, errand in drivers}
        steps = [
            (number, warp, lanes[id(errand)], self.commands(errand, step))
            for warp, errand in drivers
            for number, step in enumerate(errand.steps)
        ]
        steps.sort(key=itemgetter(0))  # interleaves the engines
        counts = [rng.randint(1, self.bursts) for _ in range(rounds)]
        for number, count in enumerate(counts):
            for _ in range(count):
                for _, warp, lane, lines in steps[:2]:
                    self.drive(warp, lane, lines)
                del steps[:2]
                self.burst(group, granules)
            if number < rounds - 1:
                # Copies that the core's other warps have loaded meanwhile are stale.
                self.add("fence rw, rw", *bar(barrier, len(group)), "fence rw, rw")
                self.effort.barriers += 1
                self.exchange(group, granules)
        for _, warp, lane, lines in steps:
            self.drive(warp, lane, lines)
        for warp, errand in drivers:
            self.drive(warp, lanes[id(errand)], self.wait(errand))

    def members(self, group: list[int]) -> list[list[int]]:
        """Return the threads of a group by barrier."""
        core = self.core
        cores = [
            [
                (number * core.warps + warp) * core.threads + thread
                for warp in group
                for thread in range(core.threads)
            ]
            for number in range(self.config.cores)
        ]
        if self.config.barrier_scope == "core":
            return cores
        return [[hart for harts in cores for hart in harts]]

    def exchange(self, group: list[int], granules: Granules) -> None:
        """Exchange the bytes among the threads of a group."""
        for harts in self.members(group):
            had = [granules.own[hart] for hart in harts]
            self.rng.shuffle(had)
            for hart, own in zip(harts, had, strict=True):
                granules.own[hart] = own

    def drive(self, warp: int, lane: int, lines: list[str]) -> None:
        """Add instructions for one thread of one warp."""
        label = self.label()
        self.add(f"li t0, {warp}", f"bne s9, t0, {label}", f"li t0, {1 << lane}", "vx_tmc t0")
        self.add(*lines, "li t0, -1", "vx_tmc t0", f"{label}: nop")

    def commands(self, errand: Errand, step: list[tuple[int | None, int]]) -> list[str]:
        """Return instructions that write one command to an engine."""
        lines = [f"li a7, {self.window + errand.base}"]
        for offset, value in step:
            store = "csrw 0xACC, t0" if offset is None else f"sw t0, {offset}(a7)"
            lines += [f"li t0, {value}", store]
        return lines

    def wait(self, errand: Errand) -> list[str]:
        """Return instructions that wait for an engine, and then read its registers."""
        label = self.label()
        lines = [f"li a7, {self.window + errand.base}", f"{label}: lw t0, {errand.running}(a7)"]
        lines.append(f"bnez t0, {label}")
        for offset in errand.reported:
            lines += [f"lw t0, {offset}(a7)", *fold("t0")]
        return lines

    def burst(self, group: list[int], granules: Granules) -> None:
        """Add accesses by all threads of a group, or by some of each warp, to a few places each."""
        rng, harts = self.rng, [hart for harts in self.members(group) for hart in harts]
        mask = (1 << self.core.threads) - 1
        if rng.random() < 0.3:
            mask = rng.randint(1, mask)
            self.add(f"li t0, {mask}", "vx_tmc t0")
        sizes = [size for size in SIZES if all(granules.own[hart][size] for hart in harts)]
        table = np.zeros((len(PLACES), self.harts), np.uint32)
        self.add(f"li t0, {4 * table.size * len(self.tables)}", "add t0, s0, t0")
        kinds: list[Use] = []
        for row, register in zip(table, PLACES, strict=True):
            is_own = bool(sizes) and (rng.random() < 0.75 or not granules.constant[1])
            size = rng.choice(sizes if is_own else [s for s in SIZES if granules.constant[s]])
            for hart in harts:
                row[hart] = rng.choice((granules.own[hart] if is_own else granules.constant)[size])
            self.add(f"lw {register}, {4 * self.harts * len(kinds)}(t0)")
            kinds.append(Use(register, size, is_own))
        self.tables.append(table)
        if rng.random() < 0.3:
            self.poll()
        rounds, label = rng.randint(1, ROUNDS), self.label()
        self.add(f"li s2, {rounds}", f"{label}: nop", *accesses(kinds, self.operations, rng))
        self.add("mv s3, s4", "mul s4, s4, s5", "addi s2, s2, -1", f"bnez s2, {label}")
        done = rounds * self.operations * len(group) * self.config.cores
        self.effort.accesses += done * mask.bit_count()
        if mask != (1 << self.core.threads) - 1:
            self.add("li t0, -1", "vx_tmc t0")

    def poll(self) -> None:
        """Add a read of an engine's progress, with an unused result."""
        name, base = self.rng.choice(list(unit_bases(len(self.config.units)).items()))
        register = (DMA if name.startswith("dma") else MATRIX)["running"]
        self.add(f"li a7, {self.window + base}", f"lw t0, {register.offset}(a7)")

    def place(self, epochs: int) -> PlacedProgram:
        """Return the program with its data."""
        table = np.concatenate(self.tables).tobytes()
        first = (FIELD, self.rng.randbytes(self.field)), (FIRST, self.rng.randbytes(self.field))
        regions = (FIELD, self.field), (FIRST, self.field), (TABLE, len(table))
        results = (DUMP, self.field), (OUT, 4 * self.harts * epochs)
        return PlacedProgram("\n".join(self.lines), (*first, (TABLE, table)), (*regions, *results))


def bar(barrier: int, count: int) -> list[str]:
    """Return instructions for a barrier."""
    return [f"li t0, {barrier}", f"li t1, {count}", "vx_bar t0, t1"]
