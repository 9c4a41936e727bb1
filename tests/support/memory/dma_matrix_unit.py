"""Model of a matrix unit at the DMA: descriptors, results, and completions."""

import random
from collections import deque
from dataclasses import asdict

from spica.sim.golden.memory.dma.dma import DmaDescriptor, SparseMemory

__all__ = ["UnitSide"]


class UnitSide:
    """Side of one matrix unit at its port of the DMA, with pauses; `accumulator` holds its rows.

    Parameters
    ----------
    dut : Dma
    number : int
        Number of the unit.
    rng : random.Random
    stall : float
        Probability of a pause.

    """

    def __init__(self, dut, number: int, rng: random.Random, stall: float):
        self.rng, self.stall = rng, stall
        self.descriptor, self.drain = dut.descriptor[number], dut.drains[number]
        done = dut.done[number]
        self.samples = [self.descriptor.ready, self.drain.ready, done.valid, done.payload]
        self.drives = [self.descriptor.valid, self.descriptor.payload.as_value()]
        self.drives += [self.drain.valid, self.drain.payload]
        self.driven = [0, 0, 0, 0]
        self.fill_bytes = dut.config.fill_bytes[number]
        self.accumulator = SparseMemory()
        self.takes_row = 0
        if self.fill_bytes:
            fill = dut.fills[number]
            self.samples += [fill.valid, fill.payload]
            self.drives.append(fill.ready)
        self.descriptors: deque[DmaDescriptor] = deque()
        self.beats: deque[bytes] = deque()
        self.done: list[dict] = []

    def step(self, values) -> list[int]:
        """Sample the DMA's outputs before a clock edge; return the values to drive after it."""
        descriptor_ready, drain_ready, done_valid, done, *fill = values
        if self.fill_bytes and self.takes_row and fill[0]:
            self.fill(fill[1])
        if done_valid:
            names = ("tag", "direction", "error")
            self.done.append({name: getattr(done, name) for name in names})
        driven = self.driven
        if driven[0] and descriptor_ready:
            self.descriptors.popleft()
            driven = [0, 0, *driven[2:]]
        if driven[2] and drain_ready:
            self.beats.popleft()
            driven = [*driven[:2], 0, 0]
        if not driven[0] and self.descriptors and self.rng.random() >= self.stall:
            shape = self.descriptor.payload.shape()
            driven = [1, shape.const(asdict(self.descriptors[0])).as_value().value, *driven[2:]]
        if not driven[2] and self.beats and self.rng.random() >= self.stall:
            driven = [*driven[:2], 1, int.from_bytes(self.beats[0], "little")]
        self.driven = driven
        if not self.fill_bytes:
            return driven
        self.takes_row = int(self.rng.random() >= self.stall)
        return [*driven, self.takes_row]

    def fill(self, row):
        """Write the words of a row that its mask selects."""
        size = self.fill_bytes
        mask = sum(0xF << 4 * word for word in range(size // 4) if row.mask >> word & 1)
        self.accumulator.write_masked(row.row * size, row.data, mask, size)
