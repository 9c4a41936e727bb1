"""Random DMA descriptors, and the comparison of their outcome with the golden model."""

import copy
import random

from spica.hw.isa.memory_map import DRAM_BASE
from spica.hw.lib.interfaces.shared_memory import Direction
from spica.sim.golden.memory.dma.dma import (
    DmaDescriptor,
    SparseMemory,
    drain_beats,
    is_refused,
    run_descriptor,
)
from support.memory.dma_bench import DmaBench

__all__ = ["SOURCE", "TARGET", "check_descriptors", "directions_of", "random_descriptors"]

LOAD, STORE, DRAIN, SPILL, FILL, REFILL = Direction

#: Sources and destinations in DRAM; no descriptor has both ends in one of them.
SOURCE, TARGET = DRAM_BASE + 0x100_0000, DRAM_BASE + 0x3000_0000


def directions_of(config) -> list[Direction]:
    """Return the directions that the DMA of a cluster supports."""
    fills = any(unit.fill_bytes for unit in config.units)
    return [LOAD, STORE, DRAIN, SPILL, *([FILL, REFILL] if fills else [])]


class Descriptors:
    """Random descriptors with destinations apart from each other, sources and other units."""

    def __init__(self, config, rng, number=0, units=1):
        self.config, self.rng = config, rng
        part = config.shared.size // 2 // units
        # Loads write below the middle of shared memory, stores read above it.
        self.local, self.local_end = number * part, (number + 1) * part
        self.source, self.target = SOURCE + (number << 24), TARGET + (number << 26)
        self.row = 0  # of the accumulator

    def shape(self, limit):
        """Return (rows, bytes per row, gap in shared memory) of at most `limit` bytes."""
        rng = self.rng
        width = rng.choice([1, 2, 7, 31, 32, 33, 64, 65, 128, rng.randint(1, 300)])
        width = min(width, limit)
        gap = rng.choice([0, 0, 1, 13, 32 - width % 32])
        rows = rng.choice([1, 1, 2, 3, rng.randint(1, 12)])
        return max(1, min(rows, limit // (width + gap))), width, gap

    def place(self, at, rows, width):
        """Return (address, pitch, end) of rows in DRAM at or after `at`."""
        rng = self.rng
        address = at + rng.choice([0, 64, rng.randrange(64), 4096 - width // 2 - at % 4096])
        address = max(at, address)
        pitch = width + rng.choice([0, 0, 1, rng.randrange(100), 64 - width % 64, 5000, 100_000])
        return address, pitch, address + rows * pitch + width

    def next(self, direction):
        """Return a descriptor, or None if shared memory is full."""
        rng, limit = self.rng, self.local_end - self.local - 8
        if direction in (FILL, REFILL):
            return self.fill(direction)
        if direction in (LOAD, SPILL) and limit < 100:
            return None
        rows, width, gap = self.shape(min(limit, 600))
        local = self.local + rng.randrange(8)
        fields = {"direction": direction, "rows": rows, "bytes": width, "local_pitch": width + gap}
        if direction == LOAD and rng.random() < 0.4:
            fields["fill_bytes"] = width + rng.randint(0, gap)
            fields["fill_rows"] = rows + rng.randint(0, max(0, limit // (width + gap) - rows) % 4)
        rows = max(rows, fields.get("fill_rows", 0))
        if direction in (LOAD, SPILL):
            self.local = local + rows * (width + gap)
        if direction == STORE:
            local = self.config.shared.size - rows * (width + gap) - rng.randrange(64)
        if direction in (DRAIN, SPILL):
            fields["block"] = self.config.units[0].drain_bytes * rng.choice([1, 2, 4])
        kind = "source" if direction == LOAD else "target"
        dram, pitch, end = self.place(getattr(self, kind), fields["rows"], width)
        setattr(self, kind, end)
        return DmaDescriptor(dram=dram, dram_pitch=pitch, local=local, **fields)

    def fill(self, direction):
        """Return a FILL or REFILL of words, or None without room in the accumulator."""
        rng, size = self.rng, self.config.units[0].fill_bytes
        if not size:
            return None
        rows, width = rng.choice([1, 2, 3, 7]), 4 * rng.randint(1, size // 4)
        first = self.row + rng.randrange(3)
        if first + rows > self.config.units[0].accumulator_rows:
            return None
        self.row = first + rows
        inside, step = first * size, size * rng.choice([1, 1, 0 if rows == 1 else 1])
        gap = 4 * rng.choice([0, 0, 1, 3, 25])
        fields = {"direction": direction, "rows": rows, "bytes": width}
        if direction == REFILL:
            local = self.config.shared.size - rows * (width + gap) - 4 * rng.randrange(16)
            return DmaDescriptor(
                dram=inside, dram_pitch=step, local=local, local_pitch=width + gap, **fields
            )
        dram, pitch = (self.source + 4 * rng.randrange(20) + 3 & ~3), width + gap
        self.source = dram + rows * pitch
        return DmaDescriptor(dram=dram, dram_pitch=pitch, local=inside, local_pitch=step, **fields)


def fill_memories(bench, descriptors, rng):
    """Fill sources, and the surroundings of destinations, with random bytes."""
    bench.local.write(0, rng.randbytes(bench.config.shared.size))
    for descriptor in descriptors:
        outside = descriptor.direction not in (SPILL, REFILL)
        if outside and not is_refused(bench.dut.config, descriptor):
            for i in range(descriptor.rows):
                bench.dram.write(
                    descriptor.dram + i * descriptor.dram_pitch - 40,
                    rng.randbytes(descriptor.bytes + 80),
                )


def random_descriptors(config, rng, directions, count, number=0):
    """Return up to `count` descriptors of unit `number`, independent of each other's order."""
    source = Descriptors(config.unit(number), rng, number, len(config.units))
    descriptors = [source.next(rng.choice(directions)) for _ in range(count)]
    return [descriptor for descriptor in descriptors if descriptor is not None]


def check_descriptors(config, *descriptors_of_units, seed, stall, **dram):
    """Run descriptors of each unit; compare memories and completions with the golden model."""
    rng = random.Random(seed)
    bench = DmaBench(config, seed=seed, stall=stall, **dram)
    fill_memories(
        bench,
        [descriptor for descriptors in descriptors_of_units for descriptor in descriptors],
        rng,
    )
    expected_dram, expected_local = copy.deepcopy(bench.dram), copy.deepcopy(bench.local)
    refused, accumulators, dma = [], [], bench.dut.config
    for number, descriptors in enumerate(descriptors_of_units):
        refused.append([])
        accumulators.append(SparseMemory())
        for descriptor in descriptors:
            beats = []
            if descriptor.direction in (DRAIN, SPILL):
                count, size = drain_beats(dma, descriptor, number), dma.drain_bytes[number]
                beats = [rng.randbytes(size) for _ in range(count)]
            bench.units[number].beats.extend(beats)
            refused[-1].append(
                run_descriptor(
                    dma,
                    descriptor,
                    expected_dram,
                    expected_local,
                    beats,
                    number,
                    accumulators[-1],
                )
            )
    bench.run_descriptors(
        *descriptors_of_units, timeout=5_000 + 1_000 * sum(map(len, descriptors_of_units))
    )
    assert bench.local == expected_local
    assert bench.dram == expected_dram
    assert [unit.accumulator for unit in bench.units] == accumulators
    for unit, descriptors, refusals in zip(bench.units, descriptors_of_units, refused, strict=True):
        check_completions(unit, descriptors, refusals)
    return bench


def check_completions(unit, descriptors, refused):
    """Raise unless every descriptor of a unit completed, loads and the others each in order."""
    assert not unit.beats
    tags = [done["tag"] for done in unit.done]
    for is_load in (True, False):
        expected = [
            k % 15 + 1
            for k, descriptor in enumerate(descriptors)
            if (descriptor.direction in (LOAD, FILL)) == is_load
        ]
        tags_done = [
            done["tag"] for done in unit.done if (done["direction"] in (LOAD, FILL)) == is_load
        ]
        assert tags_done == expected
    assert len(tags) == len(descriptors)
    if len(descriptors) <= 15:
        for done in unit.done:
            assert done["error"] == refused[done["tag"] - 1], done
            assert done["direction"] == descriptors[done["tag"] - 1].direction
