"""Bench of the L1 instruction cache: fetches on one side, a memory on the other, and contracts."""

import random
from collections import Counter, deque
from dataclasses import dataclass, field

from amaranth import Module, Value

from spica.hw.config import MachineConfig, MemoryUnitConfig
from spica.hw.isa.memory_map import DRAM_BASE, DRAM_END
from spica.hw.lib.interfaces.core_memory import fetch_response_layout
from spica.hw.memory.l1.instruction_cache import InstructionCache
from spica.sim.engine.testbench import require_no_loop, simulate
from support.packing import Packing

__all__ = ["CacheBench"]

#: Values of the pair at a place are those of an image that begins `SHIFT` bytes later after each
#: invalidation.
IMAGE, SHIFT = 1 << 16, 1000


@dataclass
class Request:
    """An accepted fetch: address, cycle, and the first image that it may be answered from."""

    address: int
    cycle: int
    version: int


@dataclass
class Line:
    """A line in flight: MSHR, address, and when each beat is due, with the image at its read.

    `born` is the image before the first cycle in which the read may have been offered.
    """

    entry: int
    address: int
    version: int
    born: int
    due: deque[int] = field(default_factory=deque)
    beat: int = 0


class CacheBench:
    """Bench of an `InstructionCache`: requires in every cycle what the cache promises.

    - Each accepted fetch has one answer, with its data, of no image before the last invalidation
      before it; outside DRAM, and where a beat has an error, an error.
    - A line has no two reads at a time, unless it was invalidated in between, and a read has an
      MSHR of its own.
    - `busy` covers each request, read, and beat.
    - Events are those of the requests, answers and reads that are seen.

    Parameters
    ----------
    config : MachineConfig
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
    seen : Counter
        Cases: fetches of a line in flight, invalidations meanwhile, errors, several lines.

    """

    def __init__(
        self,
        config: MachineConfig,
        rng: random.Random,
        *,
        latency: int = 10,
        jitter: int = 0,
        stall: float = 0.0,
        broken: range = range(0),
    ):
        self.broken, self.rng = broken, rng
        self.latency, self.jitter, self.stall = latency, jitter, stall
        unit = MemoryUnitConfig.of(config)
        self.dut = require_no_loop(InstructionCache(unit))
        self.event_packing = Packing(self.dut.events.shape())
        self.packing = Packing(fetch_response_layout(unit.core))
        self.mshrs = self.dut.mshr_config
        self.line_bytes, self.beat_bytes = self.mshrs.cache.line_bytes, self.mshrs.beat_bytes
        self.pair_width = (self.mshrs.waiters // unit.core.warps).bit_length() - 1
        self.image = random.Random(1).randbytes(IMAGE + self.beat_bytes)
        self.cycle = self.version = self.born = 0
        self.lines: list[Line] = []
        self.accepted: dict[int, Request] = {}
        self.just_accepted: int | None = None  # request of the last cycle
        self.reads: list[int] = []
        self.latencies: list[int] = []
        self.cycles: list[int] = []
        self.events: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()

    def word(self, address: int, size: int, version: int) -> int:
        """Return the contents of DRAM at `address` in an image, as a number."""
        at = (address + version * SHIFT) % IMAGE
        return int.from_bytes(self.image[at : at + size], "little")

    def beat(self) -> tuple[Line, int] | None:
        """Return the line of a beat that is due, and the address of the beat; or None."""
        due = [line for line in self.lines if line.due[0] <= self.cycle]
        if not due or self.rng.random() < self.stall:
            return None
        line = self.rng.choice(due) if self.jitter else due[0]
        return line, line.address + line.beat * self.beat_bytes

    def take(self, line: Line):
        """Count a beat of a line."""
        line.due.popleft()
        line.beat += 1
        if not line.due:
            self.lines.remove(line)

    def read(self, entry: int, address: int):
        """Begin a read of a line."""
        assert DRAM_BASE <= address < DRAM_END and address % self.line_bytes == 0
        assert entry < self.mshrs.cache.mshrs and all(
            pending.entry != entry for pending in self.lines
        )
        same = [pending for pending in self.lines if pending.address == address]
        assert all(pending.born < self.version for pending in same), f"{address:#x} is read twice"
        self.reads.append(address)
        due = self.cycle + self.latency + self.rng.randint(0, self.jitter)
        line = Line(entry, address, self.version, self.born, deque([due] * self.mshrs.beats))
        self.lines.append(line)
        self.seen["several lines"] += len(self.lines) > 1

    def accept(self, waiter: int, address: int):
        """Count an accepted fetch."""
        self.accepted[waiter] = Request(address, self.cycle, self.version)
        self.seen["joined"] += any(
            line.address <= address < line.address + self.line_bytes for line in self.lines
        )

    def answer(self, payload: int):
        """Check an answer against memory."""
        got = self.packing.unpack(payload)
        waiter = got["tag"]["warp"] << self.pair_width | got["tag"].get("pair", 0)
        request = self.accepted.pop(waiter)
        address = request.address
        if got["error"]:
            assert not DRAM_BASE <= address < DRAM_END or address in self.broken
            self.seen["errors"] += 1
        else:
            assert DRAM_BASE <= address < DRAM_END and address not in self.broken
            versions = range(request.version, self.version + 1)
            assert got["data"] in [self.word(address, 8, version) for version in versions]
        self.latencies.append(self.cycle - request.cycle)
        self.cycles.append(self.cycle)
        return waiter

    def check_events(self, happened: int, fetched: bool, is_hit: bool, read: bool):
        """Compare the events that requests, answers and reads show."""
        events = {name for name, bit in self.event_packing.unpack(happened).items() if bit}
        misses = self.just_accepted is not None and not is_hit
        assert ("fetches" in events) == fetched
        assert ("fetch_misses" in events) == misses
        assert ("lines_fetched" in events) == read
        self.events.update(events)

    def run(self, fetches, *, invalidations=(), timeout: int = 30_000):
        """Offer all pairs (number, address) in order, each when its number is free."""
        waiting = deque(fetches)
        dut = self.dut
        tag, read = dut.fetch.payload.tag, dut.read.payload

        async def bench(ctx):
            offered: tuple[int, int] | None = None
            while waiting or offered or self.accepted or self.lines:
                pauses = self.rng.random() < self.stall
                if offered is None and waiting and not pauses:
                    if waiting[0] is None:
                        waiting.popleft()
                    elif waiting[0][0] not in self.accepted:
                        offered = waiting.popleft()
                beat, read_ready = self.beat(), self.rng.random() >= self.stall
                invalidate = self.cycle in invalidations
                ctx.set(dut.fetch.valid, offered is not None)
                if offered:
                    ctx.set(dut.fetch.payload.address, offered[1])
                    ctx.set(tag.pair, offered[0] & (1 << self.pair_width) - 1)
                    ctx.set(tag.warp, offered[0] >> self.pair_width)
                ctx.set(dut.line.valid, beat is not None)
                if beat:
                    line, at = beat
                    data = self.word(at, self.beat_bytes, line.version)
                    values = {"id": line.entry, "data": data, "error": at in self.broken}
                    ctx.set(dut.line.payload, values)
                ctx.set(dut.read.ready, read_ready)
                ctx.set(dut.invalidate, invalidate)
                _, _, ready, valid, payload, reads, entry, place, busy, happened = (
                    await ctx.tick().sample(
                        dut.fetch.ready, dut.fetched.valid, Value.cast(dut.fetched.payload),
                        dut.read.valid, read.id, read.beat, dut.busy, Value.cast(dut.events),
                    )
                )  # fmt: skip
                assert busy or not (offered or beat or self.accepted or self.lines or reads)
                answered = self.answer(payload) if valid else None
                is_hit = answered is not None and answered == self.just_accepted
                self.check_events(happened, bool(offered and ready), is_hit, reads and read_ready)
                if beat:
                    self.take(beat[0])
                self.just_accepted = None
                if offered and ready:
                    self.accept(*offered)
                    self.just_accepted, offered = offered[0], None
                if reads and read_ready:
                    self.read(entry, place * self.beat_bytes)
                elif not reads:
                    self.born = self.version
                if invalidate:
                    self.version += 1
                    self.seen["invalidated in flight"] += bool(self.lines)
                self.cycle += 1

        top = Module()
        top.submodules.dut = dut
        simulate(top, bench, timeout=timeout)
