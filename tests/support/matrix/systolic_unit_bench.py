"""Bench of a matrix unit in Amaranth's simulator: host, DRAM, DMA and shared memory."""

import random
from collections import deque

import numpy as np

from spica.hw.isa.memory_map import MATRIX
from spica.hw.lib.interfaces.shared_memory import Direction
from spica.hw.matrix.systolic.systolic_unit import SystolicUnit

__all__ = ["WAIT", "MatrixHost"]

DRAM_BYTES = 1 << 16
WAIT = (-1, 0)


class MatrixHost:
    """Host and DMA model: writes registers and executes the resulting DMA descriptors.

    Addresses in DRAM are taken modulo its size.

    Parameters
    ----------
    config : MatrixUnitConfig
    writes : iterable of (byte offset, data)
        Register writes in order; `WAIT` waits until the unit is idle.
    stall : float
        Probability that shared memory, the DMA or the drain refuses.
    seed : int

    Attributes
    ----------
    dram, shared : bytearray

    """

    def __init__(self, config, writes, *, stall=0.0, seed=0):
        self.dut = SystolicUnit(config)
        self.config = config
        self.rng = random.Random(seed)
        self.stall = stall
        self.writes = deque(writes)
        self.dram = bytearray(DRAM_BYTES)
        self.shared = bytearray(self.rng.randbytes(config.shared.size))
        self.responses = {name: deque([None] * config.shared.read_latency) for name in "ab"}
        self.descriptors = deque()
        self.beats = deque()
        self.fills = deque()  # of rows of D: accumulator row, words, mask
        self.filling = False
        self.filled = set()  # places of descriptors of D whose rows are queued
        self.cycle = 0

    async def run(self, ctx):
        """Simulate until all writes are done and the unit is idle."""
        dut = self.dut
        offers = self.offer_access(ctx)
        while offers or self.writes or ctx.get(dut.busy):
            ready = self.drive(ctx)
            (
                _,
                _,
                accepted,
                a_valid,
                a,
                b_valid,
                b,
                descriptor_valid,
                descriptor,
                drain_valid,
                beat,
                fill_ready,
            ) = await ctx.tick().sample(
                dut.registers.request.ready,
                dut.a.request.valid,
                dut.a.request.payload,
                dut.b.request.valid,
                dut.b.request.payload,
                dut.descriptor.valid,
                dut.descriptor.payload,
                dut.drain.valid,
                dut.drain.payload,
                dut.fill.ready if self.config.matrix.load_d else 0,
            )
            self.read("a", a if a_valid and ready["a"] else None)
            self.read("b", b if b_valid and ready["b"] else None)
            if descriptor_valid and ready["descriptor"]:
                self.descriptors.append((descriptor, self.cycle + self.rng.choice([3, 30])))
            if self.filling and fill_ready:
                self.fills.popleft()
            if drain_valid and ready["drain"]:
                self.beats.append(beat)
            if offers and accepted:
                self.writes.popleft()
            self.cycle += 1
            offers = self.offer_access(ctx)

    async def registers(self, ctx, *names) -> dict[str, int]:
        """Return registers of the idle unit."""
        request, values = self.dut.registers.request, {}
        for name in names:
            payload = {"address": MATRIX[name].offset, "write": 0, "data": 0}
            ctx.set(request.payload, payload)
            ctx.set(request.valid, 1)
            await ctx.tick()
            values[name] = ctx.get(self.dut.registers.response.payload.data)
        ctx.set(request.valid, 0)
        return values

    def drive(self, ctx):
        """Set the inputs other than registers for one cycle; return the ready signals."""
        dut = self.dut
        ready = {
            name: self.rng.random() >= self.stall for name in ("a", "b", "descriptor", "drain")
        }
        for name, port in (("a", dut.a), ("b", dut.b)):
            data = self.responses[name].popleft()
            ctx.set(port.request.ready, ready[name])
            ctx.set(port.response.valid, data is not None)
            ctx.set(port.response.payload, data or 0)
        ctx.set(dut.descriptor.ready, ready["descriptor"])
        ctx.set(dut.drain.ready, ready["drain"])
        self.serve_dma(ctx)
        self.filling = bool(self.fills) and self.rng.random() >= self.stall
        if self.config.matrix.load_d:
            ctx.set(dut.fill.valid, self.filling)
            if self.filling:
                row, data, mask = self.fills[0]
                ctx.set(dut.fill.payload, {"row": row, "data": data, "mask": mask})
        return ready

    def offer_access(self, ctx):
        """Offer the next write; return whether there is one now."""
        request = self.dut.registers.request
        ctx.set(request.valid, 0)
        if self.writes and self.writes[0] == WAIT and not ctx.get(self.dut.busy):
            self.writes.popleft()
        if not self.writes or self.writes[0] == WAIT:
            return False
        offset, data = self.writes[0]
        ctx.set(request.payload, {"address": offset, "write": 1, "data": data})
        ctx.set(request.valid, 1)
        return True

    def read(self, name, address):
        """Answer a read `read_latency` cycles after it was accepted."""
        data = None
        if address is not None:
            size = getattr(self.config.matrix, f"{name}_bytes")
            data = int.from_bytes(self.shared[address : address + size], "little")
        self.responses[name].append(data)

    def serve_dma(self, ctx):
        """Complete the first descriptor whose time and data have arrived."""
        ctx.set(self.dut.done.valid, 0)
        for index, (descriptor, over) in enumerate(self.descriptors):
            if over > self.cycle or not self.serve(descriptor, index):
                continue
            done = {"tag": descriptor.tag, "direction": descriptor.direction, "error": 0}
            ctx.set(self.dut.done.valid, 1)
            ctx.set(self.dut.done.payload, done)
            del self.descriptors[index]
            return

    def serve(self, descriptor, index):
        """Execute a descriptor; return whether it is complete."""
        if descriptor.direction == Direction.LOAD:
            return self.load(descriptor)
        if descriptor.direction in (Direction.FILL, Direction.REFILL):
            return self.fill(descriptor)
        return self.store(descriptor, index)

    def fill(self, descriptor):
        """Offer the rows of D, each in two parts; it is complete with its last part."""
        place = (descriptor.dram, descriptor.local)
        if place not in self.filled:
            self.filled.add(place)
            self.offer_d(descriptor)
        if len(self.fills) > self.filling:
            return False
        self.filled.remove(place)
        return True

    def offer_d(self, descriptor):
        """Queue the rows of D."""
        size = self.config.matrix.fill_bytes
        inside, outside = ("dram", "local"), ("local", "dram")
        refills = descriptor.direction == Direction.REFILL
        memory = self.shared if refills else self.dram
        target, source = inside if refills else outside
        for row in range(descriptor.rows):
            start = getattr(descriptor, source) + row * getattr(descriptor, f"{source}_pitch")
            start %= len(memory)
            place = getattr(descriptor, target) + row * getattr(descriptor, f"{target}_pitch")
            data = int.from_bytes(memory[start : start + descriptor.bytes], "little")
            mask = (1 << descriptor.bytes // 4) - 1
            half = self.rng.getrandbits(size // 4)
            self.fills += [(place // size, data, part & mask) for part in (half, ~half)]

    def load(self, descriptor):
        """Copy from DRAM to shared memory."""
        for row in range(descriptor.rows):
            source, target = (
                (descriptor.dram + row * descriptor.dram_pitch) % len(self.dram),
                descriptor.local + row * descriptor.local_pitch,
            )
            self.shared[target : target + descriptor.bytes] = self.dram[
                source : source + descriptor.bytes
            ]
        return True

    def store(self, descriptor, index):
        """Write results to memory once they are complete and no earlier store waits."""
        if any(
            earlier.direction in (Direction.DRAIN, Direction.SPILL)
            for earlier, _ in list(self.descriptors)[:index]
        ):
            return False
        beat_bytes = self.config.matrix.drain_bytes
        row_beats = descriptor.block // beat_bytes
        blocks = -(-descriptor.bytes // descriptor.block)
        if len(self.beats) < blocks * descriptor.rows * row_beats:
            return False
        for block in range(blocks):
            for row in range(descriptor.rows):
                data = b"".join(
                    self.beats.popleft().to_bytes(beat_bytes, "little") for _ in range(row_beats)
                )
                count = min(descriptor.block, descriptor.bytes - block * descriptor.block)
                if descriptor.direction == Direction.DRAIN:
                    memory, start = self.dram, descriptor.dram + row * descriptor.dram_pitch
                else:
                    memory, start = self.shared, descriptor.local + row * descriptor.local_pitch
                start = (start + block * descriptor.block) % len(memory)
                memory[start : start + count] = data[:count]
        return True

    def put(self, address, matrix):
        """Write a dense matrix to DRAM."""
        data = matrix.tobytes()
        self.dram[address : address + len(data)] = data

    def get(self, address, shape, dtype):
        """Return a dense matrix from DRAM."""
        count = int(np.prod(shape))
        return np.frombuffer(self.dram, dtype, count, address).reshape(shape)
