"""Bench of an L2 slice: bursts of many ids on one side, DRAM on the other."""

import random
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from amaranth import C, EnableInserter, Module, Signal, Value

from spica.hw.lib.axi import BURST_INCR, RESPONSE_OKAY, RESPONSE_SLAVE_ERROR
from spica.hw.memory.l2.l2_slice import EVENTS, L2Slice
from spica.hw.memory.l2.layouts import L2SliceConfig
from spica.sim.engine.testbench import Simulation
from spica.sim.golden.memory.dma.dma import SparseMemory
from support.memory.axi_memory import AxiMemory
from support.memory.axi_wires import BACK, FORWARD, PAYLOADS, AxiWires
from support.packing import Together

__all__ = ["Burst", "L2Bench"]

NO_OFFERS = {"arvalid": 0, "awvalid": 0, "wvalid": 0}


@dataclass
class Burst:
    """A read of `beats` beats, or a write of values and strobes, with its recorded results."""

    id: int
    address: int
    beats: int = 1
    writes: list[tuple[int, int]] | None = None
    since: int = -1
    first: int = -1  # cycle of the first beat; `ended`: of the last beat or the reply
    ended: int = -1
    codes: list[int] = field(default_factory=list)
    values: list[int] = field(default_factory=list)
    floors: dict[int, int] = field(default_factory=dict)


class WatchedSlice(L2Slice):
    """A slice whose tag stage benches may observe once it is elaborated."""

    def build(self, platform):
        m = super().build(platform)
        self.tag_stage = m.submodules.tag_stage
        return m


@lru_cache(maxsize=16)
def simulated_slice(config: L2SliceConfig, gated: bool) -> tuple[WatchedSlice, Simulation]:
    """Return a slice and its simulation, which all benches of the config share."""
    dut, top, clocked = WatchedSlice(config), Module(), Signal()
    top.d.comb += clocked.eq(dut.busy | (not gated))
    top.submodules.dut = EnableInserter(clocked)(dut)
    return dut, Simulation(top)


class L2Bench:
    """Bench of an `L2Slice` with a model of its coherence: one order of writes for each byte.

    A byte takes its values in the order of the write bursts. A read returns a value written
    before its answer. The value must not be older than the last that was replied to, or read,
    before the request, nor older than that of an earlier read of its id.

    Parameters
    ----------
    config : L2SliceConfig
    rng : random.Random
    span : int
        Bytes of memory from `base`.
    latency, jitter : int
        Latency of DRAM in cycles, and its maximum additional random cycles.
    stall : float
        Probability of a pause, per channel and cycle, on both sides.
    broken : range
        Addresses that DRAM refuses, in addition to those after `span`.
    gated : bool
        Whether to gate the slice's clock while it is not busy.

    """

    def __init__(
        self,
        config: L2SliceConfig,
        rng: random.Random,
        *,
        span: int = 4096,
        base: int = 0x8000_0000,
        latency: int = 4,
        jitter: int = 0,
        stall: float = 0.0,
        broken: range = range(0),
        gated: bool = False,
    ):
        self.config, self.rng, self.base = config, rng, base
        self.stall, self.broken = stall, broken
        self.dut, self.simulation = simulated_slice(config, gated)
        self.near = AxiWires(self.dut.i, BACK, FORWARD)
        memory = rng.randbytes(span)
        self.dram = AxiMemory(
            self.dut.o, SparseMemory(), rng, latency=latency + 1, jitter=jitter, stall=stall,
            reorders=jitter > 0, response=self.response, block=config.l2.line_bytes, outstanding=1,
        )  # fmt: skip
        self.dram.memory.write(base, memory)
        self.inputs = Together([*self.near.drives, *self.dram.drives])
        self.history = [[value] for value in memory]
        self.floor = [0] * span
        self.cycle = 0
        self.events: Counter = Counter()
        self.failed = 0
        # Requester side
        self.requested: dict[int, deque[Burst]] = {}
        self.written: deque[Burst] = deque()  # writes whose address was accepted
        self.arrived: list = []  # accepted beats of incomplete bursts
        self.pending: dict[int, deque[tuple[Burst, dict[int, int]]]] = {}

    @classmethod
    def unsteady(cls, config: L2SliceConfig, rng: random.Random, seed: int):
        """Return a bench with random stalls and delays; every other one stops an idle clock."""
        return cls(
            config,
            rng,
            jitter=rng.choice([0, 8, 60]),
            stall=rng.choice([0, 0.1, 0.5]),
            latency=seed,
            gated=bool(seed % 2),
        )

    @property
    def fetched(self) -> list[tuple[int, int]]:
        """Address and beats of each DRAM read."""
        return self.dram.bursts_read

    @property
    def stored(self) -> list[tuple[int, int, int]]:
        """Address, beats and bytes of each DRAM write."""
        return self.dram.bursts_written

    def response(self, address: int, is_write: bool) -> int:
        """Return DRAM's response to a beat."""
        is_broken = address in self.broken or address - self.base >= len(self.history)
        return RESPONSE_SLAVE_ERROR if is_broken else RESPONSE_OKAY

    # Requests

    def accept(self, seen, offers):
        """Account for requests accepted by the slice, and check its responses."""
        near, size = self.near, self.config.beat_bytes
        for channel in FORWARD:
            if not near.moved(channel, seen):
                continue
            offer = offers.pop(channel)
            if channel == "ar":
                offer.since = self.cycle
                bytes_of = range(offer.address, offer.address + offer.beats * size)
                offer.floors = {at - self.base: self.floor[at - self.base] for at in bytes_of}
                self.requested.setdefault(offer.id, deque()).append(offer)
            elif channel == "aw":
                self.written.append(offer)
            else:
                self.arrived.append(offer)
        while self.written and len(self.arrived) >= len(self.written[0].writes or ()):
            self.give(self.written.popleft())
        if near.moved("r", seen):
            self.answer(seen)
        if near.moved("b", seen):
            self.end(seen)

    def end(self, seen):
        """Account for a reply."""
        burst, indices = self.pending[seen["bid"]].popleft()
        burst.ended = self.cycle
        burst.codes.append(seen["bresp"])
        for at, index in indices.items():
            self.floor[at] = max(self.floor[at], index)

    def give(self, burst: Burst):
        """Add the values of a complete write to the history of its bytes."""
        assert burst.writes is not None
        burst.since, indices, size = self.cycle, {}, self.config.beat_bytes
        for number, (value, strobes) in enumerate(burst.writes):
            self.arrived.pop(0)
            for byte in range(size):
                at = burst.address + number * size + byte - self.base
                if strobes >> byte & 1 and at + self.base not in self.broken:
                    self.history[at].append(value >> 8 * byte & 0xFF)
                    indices[at] = len(self.history[at]) - 1
        self.pending.setdefault(burst.id, deque()).append((burst, indices))

    def answer(self, seen):
        """Check a beat of a read."""
        burst, size = self.requested[seen["rid"]][0], self.config.beat_bytes
        address = burst.address + len(burst.values) * size
        if not burst.values:
            burst.first = self.cycle
        burst.values.append(seen["rdata"])
        burst.codes.append(seen["rresp"])
        last = len(burst.values) == burst.beats
        assert seen["rlast"] == last, "rlast is not with the last beat"
        if seen["rresp"] == RESPONSE_OKAY:
            for byte in range(size):
                self.see(burst, address + byte - self.base, seen["rdata"] >> 8 * byte & 0xFF)
        if last:
            self.requested[burst.id].popleft()
            burst.ended = self.cycle

    def see(self, burst: Burst, at: int, value: int):
        """Check a byte of a read, and raise the oldest value allowed for later reads."""
        values = self.history[at]
        oldest = burst.floors[at]
        index = next((n for n in range(oldest, len(values)) if values[n] == value), None)
        assert index is not None, (
            f"cycle {self.cycle}: byte {at:#x} of id {burst.id} is {value:#x}, "
            f"not one of {values[oldest:]}"
        )
        self.floor[at] = max(self.floor[at], index)
        for other in self.requested[burst.id]:
            if at in other.floors:
                other.floors[at] = max(other.floors[at], index)

    # The run

    @property
    def waits(self) -> bool:
        """Whether a request is not answered yet."""
        return bool(any(self.requested.values()) or any(self.pending.values()) or self.written)

    def offer(self, offers, reads, writes, beats) -> dict[str, int]:
        """Select the next offers and `ready` signals."""
        rng, values = self.rng, {}
        for channel, waiting in (("ar", reads), ("aw", writes), ("w", beats)):
            if channel not in offers and waiting and rng.random() >= self.stall:
                offers[channel] = waiting.popleft()
            values[f"{channel}valid"] = int(channel in offers)
        for channel in ("ar", "aw"):
            if burst := offers.get(channel):
                count = burst.beats if burst.writes is None else len(burst.writes)
                fields = (burst.id, burst.address, count - 1)
                fields += (self.config.beat_bytes.bit_length() - 1, BURST_INCR)
                values |= dict(zip(PAYLOADS[channel], fields, strict=True))
                values |= self.user_bits(channel, burst)
        if "w" in offers:
            values |= dict(zip(PAYLOADS["w"], offers["w"], strict=True))
        return values | {f"{c}ready": int(rng.random() >= self.stall) for c in BACK}

    @cached_property
    def outcome(self) -> Value:
        """Signals that `record_lookup` receives in each cycle."""
        return C(0, 1)

    def record_lookup(self, outcome: int):
        """Account for the outcome of a look-up."""

    def user_bits(self, channel: str, burst: Burst) -> dict[str, int]:
        """Return the user bits of an address."""
        return {}

    def run(self, *phases, timeout: int = 20_000):
        """Issue the bursts of each phase in order, reads and writes in parallel.

        The phase ``"flush"`` flushes the slice, ``"idle"`` waits until it is not busy.
        """

        async def bench(ctx):
            for phase in phases:
                if phase == "flush":
                    await self.flush(ctx)
                    continue
                if phase == "idle":
                    self.near.driven |= NO_OFFERS
                    while ctx.get(self.dut.busy):
                        await self.step(ctx, {})
                    continue
                reads = deque(burst for burst in phase if burst.writes is None)
                writes = deque(burst for burst in phase if burst.writes is not None)
                beats = deque(
                    (*beat, int(number == len(burst.writes)))
                    for burst in writes
                    for number, beat in enumerate(burst.writes, start=1)
                )
                offers: dict = {}
                while reads or writes or beats or offers or self.waits:
                    self.near.driven |= self.offer(offers, reads, writes, beats)
                    await self.step(ctx, offers)
            self.near.driven |= NO_OFFERS
            while not self.dram.idle or ctx.get(self.dut.busy):
                await self.step(ctx, {})

        self.simulation.run(bench, timeout=timeout)

    async def step(self, ctx, offers) -> bool:
        """Advance one cycle; return whether the flush is complete."""
        dut, near, dram = self.dut, self.near, self.dram
        self.inputs.set(ctx, (*near.driven.values(), *dram.wires.driven.values()))
        _, _, events, failed, flushed, outcome, *seen = await ctx.tick().sample(
            Value.cast(dut.events), dut.failed, dut.flushed, self.outcome,
            *near.samples, *dram.samples,
        )  # fmt: skip
        self.record_lookup(outcome)
        self.events.update(name for n, name in enumerate(EVENTS) if events >> n & 1)
        self.failed += failed
        self.accept(near.see(seen[: len(near.samples)]), offers)
        dram.step(seen[len(near.samples) :])
        self.cycle += 1
        return bool(flushed)

    async def flush(self, ctx):
        """Flush the slice, and compare DRAM with all writes."""
        self.near.driven |= NO_OFFERS
        ctx.set(self.dut.flush, 1)
        while not await self.step(ctx, {}):
            pass
        ctx.set(self.dut.flush, 0)
        await self.step(ctx, {})
        expected = bytes(values[-1] for values in self.history)
        stored = self.dram.memory.read(self.base, len(expected))
        assert stored == expected, "DRAM differs from what was written"

    def reads(self, identity: int, lines, beats: int | None = None) -> list[Burst]:
        """Return a read of each line, or of its first `beats`."""
        count = self.config.beats if beats is None else beats
        size = self.config.l2.line_bytes
        return [Burst(identity, self.base + size * line, count) for line in lines]

    def writes(self, identity: int, lines, strobes: int | None = None) -> list[Burst]:
        """Return a write of each line, in whole, or with the same strobes in each beat."""
        mask = (1 << self.config.beat_bytes) - 1 if strobes is None else strobes
        bursts = self.reads(identity, lines)
        for burst in bursts:
            values = [self.rng.getrandbits(self.config.data_width) for _ in range(burst.beats)]
            burst.writes = [(value, mask) for value in values]
        return bursts

    def random_bursts(self, count: int, *, lines, ids, writes: float = 0.5) -> list[Burst]:
        """Return random bursts of some ids at some lines, with all kinds of strobes."""
        rng, config = self.rng, self.config
        bursts = []
        for _ in range(count):
            first = rng.randrange(config.beats)
            beats = rng.randint(1, config.beats - first)
            address = self.base + rng.choice(lines) * config.l2.line_bytes
            address += first * config.beat_bytes
            burst = Burst(rng.choice(ids), address, beats)
            if rng.random() < writes:
                full = (1 << config.beat_bytes) - 1
                some = rng.getrandbits(config.beat_bytes)
                kinds = (full, full, 0, 1, 1 << config.beat_bytes - 1, some)
                burst.writes = [
                    (rng.getrandbits(config.data_width), rng.choice(kinds)) for _ in range(beats)
                ]
            bursts.append(burst)
        return bursts
