"""Bench of the write combiner: checks in every cycle that no write is lost or waits too long."""

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from amaranth import Module, Value

from spica.hw.lib.axi import atomic_user_layout
from spica.hw.lib.write_combiner import WriteCombiner, WriteCombinerConfig
from spica.sim.engine.testbench import require_no_loop, simulate
from support.packing import Packing

__all__ = ["CombinerBench"]


@dataclass(eq=False)
class Burst:
    """Writes to a line that form one burst; `entry` holds them in the combiner."""

    entry: int
    line: int
    begun: int
    user: int = 0
    is_closed: bool = False  # begun with or before an atomic
    beats: dict[int, tuple[bytes, int]] = field(default_factory=dict)  # value, strobes

    def write(self, place: int, value: bytes, strobes: int):
        """Write a beat over its previous contents."""
        before, held = self.beats.get(place, (value, 0))
        bytes_of = (
            new if strobes >> n & 1 else old
            for n, (new, old) in enumerate(zip(value, before, strict=True))
        )
        self.beats[place] = (bytes(bytes_of), held | strobes)


class CombinerBench:
    """Bench of a `WriteCombiner`: runs until all is sent.

    A write joins the open burst of its line, or begins one if an entry is free. Bursts are offered
    in the order in which they began: when whole, when entries are scarce, or after the patience.
    Their beats follow in order, and all offers stay until they are accepted. An atomic is alone in
    its burst, and closes all bursts, which are then offered at once.

    Parameters
    ----------
    config : WriteCombinerConfig
    rng : random.Random
    stall : float
        Probability of a pause of writes, bursts and beats.
    takes : callable or None
        Returns, for a cycle, `ready` of burst and beat; None for random values by `stall`.

    Attributes
    ----------
    writes : list of (int, tuple)
        Cycle of acceptance, and the write (beat, value, strobes).
    bursts, beats : list of (int, dict)
        Cycle of acceptance, and contents.

    """

    def __init__(
        self,
        config: WriteCombinerConfig,
        rng: random.Random,
        *,
        stall: float = 0.0,
        takes: Callable[[int], tuple[bool, bool]] | None = None,
    ):
        self.config, self.rng, self.stall = config, rng, stall
        self.takes = takes or (lambda _: (not self.pauses(), not self.pauses()))
        self.dut = require_no_loop(WriteCombiner(config))
        self.cycle = 0
        self.user = Packing(atomic_user_layout(config.owner_width or 0))
        self.offer: tuple[int, bytes, int, int] | tuple[int, bytes, int] | None = None
        self.waiting: deque[Burst] = deque()  # not accepted yet
        self.held: deque[Burst] = deque()  # with beats that were not offered yet
        self.offers = False  # the oldest of `waiting` was offered
        self.beat: dict | None = None  # the offered beat, until it is accepted
        self.sent = 0  # beats offered of the oldest of `held`
        self.writes: list[tuple[int, tuple]] = []
        self.bursts: list[tuple[int, dict]] = []
        self.beats: list[tuple[int, dict]] = []

    def pauses(self) -> bool:
        """Return, at random, whether to pause in this cycle."""
        return self.rng.random() < self.stall

    def run(self, writes: Iterable[tuple | None], timeout: int = 20_000):
        """Offer writes (beat, value, strobes) in order, or (beat, value, strobes, user bits).

        None is a pause of one cycle.
        """
        left, dut, config = deque(writes), self.dut, self.config
        request, burst, beat = (
            Packing(layout)
            for layout in (config.write_layout, config.burst_layout, config.beat_layout)
        )
        samples = [dut.i.ready, dut.joins, dut.line, dut.burst.valid, dut.beat.valid, dut.busy]
        samples += [Value.cast(dut.burst.payload), Value.cast(dut.beat.payload)]

        async def bench(ctx):
            while left or self.offer or self.waiting or self.held or self.beat:
                if self.offer is None and left and not self.pauses():
                    self.offer = left.popleft()
                ctx.set(dut.i.valid, self.offer is not None)
                if self.offer is not None:
                    number, value, strobes, *user = self.offer
                    data = int.from_bytes(value, "little")
                    payload = {"beat": number, "data": data, "strobes": strobes}
                    if config.has_atomics:
                        payload["user"] = self.user.unpack(user[0])
                    ctx.set(Value.cast(dut.i.payload), request.pack(payload))
                takes = self.takes(self.cycle)
                ctx.set(dut.burst.ready, takes[0])
                ctx.set(dut.beat.ready, takes[1])
                _, _, *seen, offer, beat_valid, busy, bits, sent = await ctx.tick().sample(*samples)
                used = self.check_beat(beat.unpack(sent) if beat_valid else None)
                assert busy == bool(self.waiting or used or self.beat)
                self.check_burst(burst.unpack(bits) if offer else None)
                if self.offer is not None:
                    self.accept(*seen)
                if self.offers and takes[0]:
                    self.bursts.append((self.cycle, burst.unpack(bits)))
                    self.waiting.popleft()
                    self.offers = False
                if self.beat is not None and takes[1]:
                    self.beats.append((self.cycle, self.beat))
                    self.beat = None
                self.cycle += 1
            await ctx.tick()
            assert not ctx.get(dut.busy)

        top = Module()
        top.submodules.dut = dut
        simulate(top, bench, timeout=timeout)

    @property
    def in_use(self) -> int:
        """Entries in use."""
        return max(len(self.waiting), len(self.held))

    def check_beat(self, sent: dict | None) -> int:
        """Check the offered beat; return the entries in use before."""
        used = len(self.held)
        if self.beat is not None:
            assert sent is not None
            value = sent["data"].to_bytes(self.config.beat_bytes, "little")
            assert sent | {"value": value} == self.beat, "a beat changed"
        elif sent is not None:
            burst = self.held[0]
            is_open = burst in self.waiting and not (self.offers and burst is self.waiting[0])
            assert not is_open, "a beat of a burst that is not offered yet"
            place, last = min(burst.beats) + self.sent, max(burst.beats)
            value, strobes = burst.beats.get(place, (bytes(self.config.beat_bytes), 0))
            assert (sent["strobes"], sent["last"]) == (strobes, place == last)
            data = sent["data"].to_bytes(self.config.beat_bytes, "little")
            wrong = [n for n, byte in enumerate(value) if strobes >> n & 1 and byte != data[n]]
            assert not wrong, f"bytes {wrong} of beat {place} of line {burst.line:#x}"
            self.beat, self.sent = sent | {"value": data}, self.sent + 1
            if place == last:
                self.held.popleft()
                self.sent = 0
        return used

    def check_burst(self, bits: dict | None):
        """Check the offered burst, and that the oldest one is offered in time."""
        if not self.waiting:
            assert bits is None
            return
        config, oldest = self.config, self.waiting[0]
        first, last = min(oldest.beats), max(oldest.beats)
        waited = self.cycle - oldest.begun
        scarce = self.in_use >= max(1, config.lines - 2 + (config.lines == 2))
        is_whole = len(oldest.beats) == config.line_beats
        must = self.offers or scarce or is_whole or oldest.is_closed
        assert bits is not None or not (must or waited > 2 * config.patience)
        assert bits is None or must or waited > config.patience
        expected: dict = {"beat": oldest.line * config.line_beats + first, "further": last - first}
        if config.has_atomics:
            expected["user"] = self.user.unpack(oldest.user)
        assert bits in (None, expected)
        self.offers = bits is not None

    def accept(self, ready: int, joins: int, entry: int):
        """Check the answer to the offered write; take it over if it is accepted."""
        assert self.offer is not None
        beat, value, strobes, *users = self.offer
        user = users[0] if users else 0
        line, place = divmod(beat, self.config.line_beats)
        is_open = list(self.waiting)[int(self.offers) :]
        joinable = [other for other in is_open if other.line == line and not other.is_closed]
        burst = None if user & 1 or not joinable else joinable[0]
        assert joins == (burst is not None)
        assert ready == (joins or self.in_use < self.config.lines)
        if not ready:
            return
        if burst is None:
            burst = Burst(entry, line, self.cycle, user)
            assert entry not in {other.entry for other in (*self.waiting, *self.held)}
            self.waiting.append(burst)
            self.held.append(burst)
        assert entry == burst.entry
        for other in self.waiting:
            other.is_closed |= bool(user & 1)
        burst.write(place, value, strobes)
        self.writes.append((self.cycle, self.offer))
        self.offer = None
