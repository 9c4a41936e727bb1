"""Bench of the L1 data cache: reads and writes on one side, a memory on the other."""

import random
from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from amaranth import Module, Value

from spica.hw.isa.memory_map import DRAM_BASE
from spica.hw.isa.operations import AtomicOperation
from spica.hw.memory.l1.data_cache import DataCache
from spica.hw.memory.l1.data_cache_layouts import DataCacheConfig
from spica.hw.memory.l1.data_stages.fill_stage import REFUSALS
from spica.sim.engine.testbench import Simulation, require_no_loop
from spica.sim.golden.memory.l1.data_cache import OrderedMemory
from support.packing import Packing

__all__ = ["DataCacheBench", "Write"]

INPUTS = ("read", "write", "line", "line_written")
OUTPUTS = ("answer", "written", "line_read", "line_write")


@dataclass
class Write:
    """A write of a beat, by number; ``is_done`` once memory has applied it.

    An atomic combines its bytes with those of memory by an exclusive or, whatever its ``user`` bits
    are: the cache must not depend on them.
    """

    beat: int
    value: bytes
    strobes: int
    is_atomic: bool = False
    is_done: bool = False


@lru_cache(maxsize=8)
def simulated_cache(config: DataCacheConfig) -> tuple[DataCache, Simulation]:
    """Return a cache and its simulation, which all benches of the config share."""
    dut, top = require_no_loop(DataCache(config)), Module()
    top.submodules.dut = dut
    return dut, Simulation(top)


class DataCacheBench:
    """Bench of a `DataCache`: checks every answer against the order of acceptance.

    Beats are numbered from the start of DRAM. A read of a line during a write to it, or a write
    during a read, is an error too, as memory may apply them in any order.

    Parameters
    ----------
    config : DataCacheConfig
    rng : random.Random
    latency : int
        Cycles from an accepted read or write to its first beat or response.
    jitter : int
        Maximum additional random cycles; with any, beats of several lines are interleaved.
    stall : float
        Probability of a pause of requests, of answers, and of memory in both directions.
    broken, refused : collections of int
        Beats that fail to be read, and to be written.

    Attributes
    ----------
    lines_read : list of int
        First beats of the lines that were read.
    latencies : list of int
        Cycles from the acceptance of a read to its answer, in the order of the answers.
    cycles : list of int
        Cycle of each answer.
    writes : list of int
        Cycles in which writes were accepted.
    errors : Counter
        Answers with an error, of reads and of writes.
    events : Counter
        Events of all cycles.

    """

    def __init__(
        self,
        config: DataCacheConfig,
        rng: random.Random,
        *,
        latency: int = 10,
        jitter: int = 0,
        stall: float = 0.0,
        broken: Collection[int] = (),
        refused: Collection[int] = (),
    ):
        self.config, self.rng = config, rng
        self.latency, self.jitter, self.stall = latency, jitter, stall
        self.broken, self.refused = broken, refused
        self.dut, self.simulation = simulated_cache(config)
        dut = self.dut
        self.packings = {n: Packing(getattr(dut, n).payload.shape()) for n in INPUTS + OUTPUTS}
        self.event_packing = Packing(dut.events.shape())
        self.model = OrderedMemory(config.beat_bytes, self.contents)
        self.stored: dict[int, bytearray] = {}
        self.first = DRAM_BASE // config.beat_bytes
        self.cycle = 0
        self.refusals = 0  # cycles in a row in which a beat was refused
        self.lines: list[deque] = []  # (due, entry, beat, value or None) of lines in flight
        self.under_way: deque[Write] = deque()  # writes accepted by the cache
        self.passed: deque[Write] = deque()  # the first of these, accepted by memory
        self.responses: deque[int] = deque()  # due cycles of their responses
        self.offers: dict[str, dict | None] = {name: None for name in INPUTS}
        self.since: dict[int, int] = {}
        self.contexts: dict[int, int] = {}  # of the reads in flight, by id
        self.has_atomics = config.owner_width is not None
        self.users: deque[dict | None] = deque()  # of the writes not accepted by memory
        self.words: deque[int] = deque()  # results of the offered completion
        self.lines_read: list[int] = []
        self.latencies: list[int] = []
        self.cycles: list[int] = []
        self.writes: list[int] = []
        self.errors, self.events = Counter(), Counter()

    def contents(self, beat: int) -> bytes:
        """Return the initial contents of a beat."""
        return random.Random(beat).randbytes(self.config.beat_bytes)

    def held(self, beat: int) -> bytearray:
        """Return the current contents of a beat of DRAM."""
        if beat not in self.stored:
            self.stored[beat] = bytearray(self.contents(beat))
        return self.stored[beat]

    def pauses(self) -> bool:
        """Return, at random, whether to pause in this cycle."""
        return self.rng.random() < self.stall

    def due(self) -> int:
        """Return the cycle in which an access accepted now is due."""
        return self.cycle + self.latency + self.rng.randint(0, self.jitter)

    def line_of(self, beat: int) -> int:
        """Return the line of a beat."""
        return beat // self.config.beats

    def offer(self, reads: deque, writes: deque):
        """Select the inputs offered to the cache; a refused offer stays."""
        offers = self.offers
        if offers["read"] is None and reads and not self.pauses():
            free = [n for n in range(self.config.waiters) if n not in self.model.pending]
            if reads[0] is None:
                reads.popleft()
            elif free:
                number = self.rng.choice(free)
                context = self.rng.getrandbits(self.config.context_width)
                beat = self.first + reads.popleft()
                offers["read"] = {"id": number, "beat": beat, "context": context}
        if offers["write"] is None and writes and not self.pauses():
            write = writes.popleft()
            if write is not None:
                offers["write"] = {
                    "beat": self.first + write.beat,
                    "data": int.from_bytes(write.value, "little"),
                    "strobes": write.strobes,
                    **self.user(write.is_atomic),
                }
        due = [line for line in self.lines if line[0][0] <= self.cycle]
        if offers["line"] is None and due and not self.pauses():
            line = self.rng.choice(due) if self.jitter else due[0]
            offers["line"] = self.beat_of(line)
        is_due = self.responses and self.responses[0] <= self.cycle
        if offers["line_written"] is None and is_due and not self.pauses():
            offers["line_written"] = {"error": self.passed[0].beat in self.refused}
            if self.has_atomics:
                self.words.append(self.rng.getrandbits(32))
                offers["line_written"]["word"] = self.words[-1]

    def user(self, is_atomic: bool) -> dict:
        """Return the user bits of a write, none without atomics."""
        if not self.has_atomics:
            return {}
        operation = self.rng.choice(list(AtomicOperation))
        owner = self.rng.getrandbits(self.config.owner_width)
        return {"user": {"atomic": int(is_atomic), "operation": operation, "owner": owner}}

    def beat_of(self, line: deque) -> dict:
        """Return the next beat of a line, read now unless it was read before."""
        _, entry, beat, value = line[0]
        data = self.held(beat) if value is None else value
        number = int.from_bytes(data, "little")
        return {"id": entry, "data": number, "error": beat in self.broken}

    def take_line_read(self, got: dict):
        """Begin a read of a line: some beats are read at once, others when they are sent."""
        beat = got["beat"] - self.first
        assert beat % self.config.beats == 0
        line = self.line_of(beat)
        assert all(self.line_of(write.beat) != line for write in self.under_way)
        self.lines_read.append(beat)
        due, is_early = self.due(), self.rng.random() < 0.5
        beats = range(beat, beat + self.config.beats)
        values = [bytes(self.held(n)) if is_early else None for n in beats]
        self.lines.append(
            deque((due, got["id"], n, value) for n, value in zip(beats, values, strict=True))
        )

    def take_line(self, got: dict):
        """Account for a beat accepted by the cache."""
        line = next(line for line in self.lines if line[0][1] == got["id"])
        line.popleft()
        self.lines = [line for line in self.lines if line]

    def accept_read(self, got: dict):
        """Account for a read accepted by the cache."""
        self.model.read(got["id"], got["beat"] - self.first)
        self.since[got["id"]] = self.cycle
        self.contexts[got["id"]] = got["context"]

    def accept_write(self, got: dict):
        """Account for a write accepted by the cache."""
        value = got["data"].to_bytes(self.config.beat_bytes, "little")
        user = got.get("user")
        is_atomic = user is not None and bool(user["atomic"])
        write = Write(got["beat"] - self.first, value, got["strobes"], is_atomic)
        if is_atomic:
            value = bytes(a ^ b for a, b in zip(self.model.held(write.beat), value, strict=True))
        being_read = {self.line_of(line[0][2]) for line in self.lines}
        assert self.line_of(write.beat) not in being_read
        self.model.write(write.beat, value, write.strobes, write.beat in self.refused)
        self.under_way.append(write)
        self.users.append(user)
        self.writes.append(self.cycle)

    def take_line_write(self, got: dict):
        """Begin a write in memory: apply it at once with those before it, or at its response."""
        write = self.under_way[len(self.passed)]
        data = int.from_bytes(write.value, "little")
        user = self.users.popleft()
        sent = {"beat": self.first + write.beat, "data": data, "strobes": write.strobes}
        assert got == sent | ({} if user is None else {"user": user})
        self.passed.append(write)
        self.responses.append(max(self.due(), max(self.responses, default=0)))
        if self.rng.random() < 0.5:
            for access in self.passed:
                self.do(access)

    def do(self, write: Write):
        """Apply a write, once."""
        if not write.is_done and write.beat not in self.refused:
            for n in range(self.config.beat_bytes):
                old = self.held(write.beat)[n] if write.is_atomic else 0
                if write.strobes >> n & 1:
                    self.held(write.beat)[n] = write.value[n] ^ old
        write.is_done = True

    def take_answer(self, got: dict):
        """Check an answer to a read."""
        beat = self.model.pending[got["id"]].beat
        assert got["error"] == (beat in self.broken), f"beat {beat}"
        assert got["context"] == self.contexts.pop(got["id"]), f"beat {beat}"
        value = got["data"].to_bytes(self.config.beat_bytes, "little")
        self.model.answer(got["id"], None if got["error"] else value)
        self.errors["reads"] += got["error"]
        self.latencies.append(self.cycle - self.since.pop(got["id"]))
        self.cycles.append(self.cycle)

    def take_written(self, got: Any) -> bool:
        """Check a completed write; return whether it failed."""
        if self.has_atomics:
            assert got["word"] == self.words.popleft()
            got = got["error"]
        write = self.passed.popleft()
        assert self.under_way.popleft() is write
        self.responses.popleft()
        self.do(write)
        assert got == (write.beat in self.refused)
        self.errors["writes"] += got
        return bool(got)

    def change(self):
        """Write all lines in flight, and one that was read, as another master."""
        lines = {self.line_of(line[0][2]) for line in self.lines}
        lines.update(
            self.line_of(beat)
            for beat in self.rng.sample(sorted(self.stored), min(1, len(self.stored)))
        )
        offered = self.offers["write"]
        written = {write.beat for write in self.under_way}
        if offered is not None:
            written.add(offered["beat"] - self.first)
        for line in lines:
            for beat in range(line * self.config.beats, (line + 1) * self.config.beats):
                if beat not in written:  # otherwise the order of the writes is undefined
                    value = self.rng.randbytes(self.config.beat_bytes)
                    self.model.change(beat, value)
                    self.stored[beat] = bytearray(value)

    def settle(self, seen: dict, willing: dict) -> bool:
        """Account for the transfers of a cycle; return whether the cache is invalidated."""
        given = {n: offer for n, offer in self.offers.items() if offer is not None and seen[n]}
        accepted = {n: seen[n] for n in OUTPUTS if seen[n] is not None and willing[n]}
        assert not ("read" in given and "write" in given)
        assert ("written" in accepted) == ("line_written" in given)
        is_refused = self.offers["line"] is not None and "line" not in given
        self.refusals = self.refusals + 1 if is_refused else 0
        assert self.refusals <= REFUSALS, "a beat is refused too often"
        if "answer" in accepted:
            self.take_answer(accepted["answer"])
        fails = "written" in accepted and self.take_written(accepted["written"])
        for name, account in (("line", self.take_line), ("read", self.accept_read),
                              ("write", self.accept_write)):  # fmt: skip
            if name in given:
                account(given[name])
        if "line_read" in accepted:
            self.take_line_read(accepted["line_read"])
        if "line_write" in accepted:
            self.take_line_write(accepted["line_write"])
        for name in given:
            self.offers[name] = None
        return fails

    def is_idle(self) -> bool:
        """Return whether no request is in progress."""
        offered = any(offer is not None for offer in self.offers.values())
        return not (offered or self.model.pending or self.under_way or self.lines)

    def drive(self, ctx, invalidate: bool) -> dict:
        """Drive all inputs for a cycle; return the `ready` of each output."""
        dut = self.dut
        for name in INPUTS:
            port, offer = getattr(dut, name), self.offers[name]
            ctx.set(port.valid, offer is not None)
            if offer is not None:
                is_flag = name == "line_written" and not self.has_atomics
                value = offer["error"] if is_flag else self.packings[name].pack(offer)
                ctx.set(Value.cast(port.payload), value)
        willing = {name: not self.pauses() for name in OUTPUTS}
        for name in OUTPUTS:
            ctx.set(getattr(dut, name).ready, willing[name])
        ctx.set(dut.invalidate, invalidate)
        return willing

    def run(self, reads=(), writes=(), *, invalidations=(), changes=(), timeout: int = 30_000):
        """Offer reads (of beats) and writes, each in order; None is a pause of one cycle.

        The cache is invalidated in the cycles `invalidations`. Another master writes the lines in
        flight in the cycles `changes`. Ends when no request is in progress.
        """
        reads, writes = deque(reads), deque(writes)
        dut = self.dut
        outputs = [getattr(dut, name) for name in OUTPUTS]
        signals = [
            *(getattr(dut, name).ready for name in INPUTS),
            *(port.valid for port in outputs),
            *(Value.cast(port.payload) for port in outputs),
            Value.cast(dut.events), dut.busy,
        ]  # fmt: skip

        async def bench(ctx):
            is_busy = True
            while reads or writes or is_busy:
                self.offer(reads, writes)
                was_idle, invalidate = self.is_idle(), self.cycle in invalidations
                willing = self.drive(ctx, invalidate)
                _, _, *values = await ctx.tick().sample(*signals)
                events, is_busy = values[-2:]
                assert is_busy or was_idle
                shown: dict[str, Any] = dict(zip(INPUTS, values[:4], strict=True))
                for name, valid, value in zip(OUTPUTS, values[4:8], values[8:12], strict=True):
                    shown[name] = self.packings[name].unpack(value) if valid else None
                self.events.update(self.event_packing.unpack(events))
                drops = self.settle(shown, willing) or invalidate
                if self.cycle in changes:
                    self.change()
                if drops:
                    self.model.drop_old()
                self.cycle += 1

        self.simulation.run(bench, timeout=timeout)
        assert not self.model.pending and not self.under_way
        assert all(self.held(beat) == value for beat, value in self.model.beats.items())
