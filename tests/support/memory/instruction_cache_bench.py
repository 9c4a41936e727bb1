"""Bench of the L1 instruction cache: fetches on one side, a memory on the other."""

import random
from collections import Counter, deque

from amaranth import Module, Value

from spica.hw.config import ClusterConfig, MemoryUnitConfig
from spica.hw.isa.memory_map import DRAM_BASE, DRAM_END
from spica.hw.lib.interfaces.core_memory import fetch_response_layout
from spica.hw.memory.l1.instruction_cache import InstructionCache
from spica.sim.engine.testbench import simulate
from spica.sim.golden.memory.l1.instruction_cache import Beat, CacheModel, Cycle, Pair
from support.packing import Packing

__all__ = ["CacheBench"]


class CacheBench:
    """Bench of an `InstructionCache`: compares it with its model in every cycle.

    Parameters
    ----------
    config : ClusterConfig
    rng : random.Random
    latency : int
        Cycles from an accepted read to its first beat.
    jitter : int
        Maximum additional random cycles; with any, beats of several lines are interleaved.
    stall : float
        Probability of a pause of fetches, of reads, of beats.
    broken : range
        Addresses whose beats have an error.

    Attributes
    ----------
    reads : list of int
        Addresses of the lines that were read.
    latencies : list of int
        Cycles from the acceptance of a fetch to its answer, in the order of the answers.
    cycles : list of int
        Cycle of each answer.
    events : Counter
        Events of all cycles.

    """

    def __init__(
        self,
        config: ClusterConfig,
        rng: random.Random,
        *,
        latency: int = 10,
        jitter: int = 0,
        stall: float = 0.0,
        broken: range = range(0),
    ):
        self.broken = broken
        self.config, self.rng = config, rng
        self.latency, self.jitter, self.stall = latency, jitter, stall
        unit = MemoryUnitConfig.of(config)
        self.dut, self.model = InstructionCache(unit), CacheModel(unit)
        self.event_packing = Packing(self.dut.events.shape())
        self.packing = Packing(fetch_response_layout(unit.core))
        mshr_config = self.dut.mshr_config
        self.beats, self.beat_bytes = mshr_config.beats, mshr_config.beat_bytes
        self.pair_width = (mshr_config.waiters // unit.core.warps).bit_length() - 1
        self.image = random.Random(1).randbytes(1 << 16)
        self.cycle = 0
        self.lines: list = []  # deques of (due, beat) of each line in flight
        self.accepted: dict[int, tuple[int, int]] = {}  # address and cycle, by request number
        self.reads: list[int] = []
        self.latencies: list[int] = []
        self.cycles: list[int] = []
        self.events: Counter[str] = Counter()

    def word(self, address: int, size: int) -> int:
        """Return the contents of DRAM at `address`, as a number."""
        at = address % len(self.image)
        return int.from_bytes(self.image[at : at + size], "little")

    def comes(self) -> Beat | None:
        """Return a beat that is due, of any line, or None."""
        due = [line for line in self.lines if line[0][0] <= self.cycle]
        if not due or self.rng.random() < self.stall:
            return None
        line = self.rng.choice(due) if self.jitter else due[0]
        _, beat = line.popleft()
        self.lines = [each for each in self.lines if each]
        return beat

    def read(self, entry: int, address: int):
        """Begin a read of a line."""
        self.reads.append(address)
        due = self.cycle + self.latency + self.rng.randint(0, self.jitter)
        line = deque()
        for n in range(self.beats):
            at = address + n * self.beat_bytes
            line.append((due, Beat(entry, self.word(at, self.beat_bytes), at in self.broken)))
        self.lines.append(line)

    def account(self, shown: Cycle):
        """Check an answer against memory."""
        if shown.fetched is None:
            return
        address, since = self.accepted.pop(shown.fetched.waiter)
        is_right = DRAM_BASE <= address < DRAM_END and address not in self.broken
        assert shown.fetched.value == (self.word(address, 8) if is_right else -1)
        self.latencies.append(self.cycle - since)
        self.cycles.append(self.cycle)

    def run(self, fetches, *, invalidations=(), timeout: int = 30_000):
        """Offer all pairs (number, address) in order, each when its number is free."""
        waiting = deque(fetches)
        dut = self.dut
        tag = dut.fetch.payload.tag
        read = dut.read.payload

        async def bench(ctx):
            offered: Pair | None = None
            while waiting or offered or self.accepted or self.model.look or self.lines:
                pauses = self.rng.random() < self.stall
                if offered is None and waiting and not pauses:
                    if waiting[0] is None:
                        waiting.popleft()
                    elif waiting[0][0] not in self.accepted:
                        offered = Pair(*waiting.popleft())
                beat, ready = self.comes(), self.rng.random() >= self.stall
                invalidate = self.cycle in invalidations
                ctx.set(dut.fetch.valid, offered is not None)
                if offered:
                    ctx.set(dut.fetch.payload.address, offered.value)
                    ctx.set(tag.pair, offered.waiter & (1 << self.pair_width) - 1)
                    ctx.set(tag.warp, offered.waiter >> self.pair_width)
                ctx.set(dut.line.valid, beat is not None)
                if beat:
                    values = {"id": beat.entry, "data": beat.data, "error": beat.error}
                    ctx.set(dut.line.payload, values)
                ctx.set(dut.read.ready, ready)
                ctx.set(dut.invalidate, invalidate)
                expected = self.model.step(offered, beat, ready, invalidate)
                _, _, *seen = await ctx.tick().sample(
                    dut.fetch.ready, dut.fetched.valid, Value.cast(dut.fetched.payload),
                    dut.read.valid, read.id, read.beat, dut.busy, Value.cast(dut.events),
                )  # fmt: skip
                shown = self.shown(seen)
                assert shown == expected, self.cycle
                if offered and shown.ready:
                    self.accepted[offered.waiter] = offered.value, self.cycle
                    offered = None
                self.account(shown)
                self.events.update(shown.events)
                if shown.read and ready:
                    self.read(*shown.read)
                self.cycle += 1

        top = Module()
        top.submodules.dut = dut
        simulate(top, bench, timeout=timeout)

    def shown(self, seen) -> Cycle:
        """Return the sampled outputs as a `Cycle`."""
        ready, valid, payload, read_valid, entry, beat, busy, happened = seen
        fetched = None
        if valid:
            got = self.packing.unpack(payload)
            waiter = got["tag"]["warp"] << self.pair_width | got["tag"].get("pair", 0)
            fetched = Pair(waiter, -1 if got["error"] else got["data"])
        read = (entry, beat * self.beat_bytes) if read_valid else None
        events = frozenset(n for n, bit in self.event_packing.unpack(happened).items() if bit)
        return Cycle(bool(ready), fetched, read, bool(busy), events)
