"""Bench of the write combiner, compared with its golden model in every cycle."""

import random
from collections import deque
from collections.abc import Callable, Iterable

from amaranth import Module, Value

from spica.hw.lib.write_combiner import WriteCombiner, WriteCombinerConfig
from spica.sim.engine.testbench import simulate
from spica.sim.golden.lib.write_combiner import Burst, CombinedWrites
from support.packing import Packing

__all__ = ["CombinerBench"]


class CombinerBench:
    """Bench of a `WriteCombiner`: runs until all is sent, compared with `CombinedWrites`.

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
    writes : list of (int, tuple, Burst)
        Cycle of acceptance, the write (beat, value, strobes), and its burst.
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
        self.dut = WriteCombiner(config)
        self.model = CombinedWrites(config)
        self.cycle = 0
        self.offer: tuple[int, bytes, int] | None = None
        self.beat: dict | None = None  # the offered beat
        self.writes: list[tuple[int, tuple, Burst]] = []
        self.bursts: list[tuple[int, dict]] = []
        self.beats: list[tuple[int, dict]] = []

    def pauses(self) -> bool:
        """Return, at random, whether to pause in this cycle."""
        return self.rng.random() < self.stall

    def run(self, writes: Iterable[tuple[int, bytes, int] | None], timeout: int = 20_000):
        """Offer writes (beat, value, strobes) in order; None is a pause of one cycle."""
        left, dut, config = deque(writes), self.dut, self.config
        ask, burst, beat = (
            Packing(layout)
            for layout in (config.write_layout, config.burst_layout, config.beat_layout)
        )
        samples = [dut.i.ready, dut.joins, dut.line, dut.burst.valid, dut.beat.valid, dut.busy]
        samples += [Value.cast(dut.burst.payload), Value.cast(dut.beat.payload)]

        async def bench(ctx):
            model = self.model
            while left or self.offer or model.waiting or model.held or self.beat:
                if self.offer is None and left and not self.pauses():
                    self.offer = left.popleft()
                ctx.set(dut.i.valid, self.offer is not None)
                if self.offer is not None:
                    number, value, strobes = self.offer
                    data = int.from_bytes(value, "little")
                    payload = {"beat": number, "data": data, "strobes": strobes}
                    ctx.set(Value.cast(dut.i.payload), ask.pack(payload))
                takes = self.takes(self.cycle)
                ctx.set(dut.burst.ready, takes[0])
                ctx.set(dut.beat.ready, takes[1])
                _, _, *seen, asked, sent = await ctx.tick().sample(*samples)
                self.settle(seen, burst.unpack(asked), beat.unpack(sent), takes)
                self.cycle += 1
            await ctx.tick()
            assert not ctx.get(dut.busy)

        top = Module()
        top.submodules.dut = dut
        simulate(top, bench, timeout=timeout)

    def settle(self, seen, asked: dict, sent: dict, takes):
        """Compare the outputs of a cycle with the model, and advance the model."""
        model = self.model
        ready, joins, line, burst_valid, beat_valid, busy = seen
        offered = model.offered()
        assert burst_valid == (offered is not None)
        assert offered is None or asked == offered
        assert beat_valid == (self.beat is not None)
        if self.beat is not None:
            self.check_beat(sent)
        assert busy == bool(model.waiting or model.held or self.beat)
        accepted, begun = None, None
        if self.offer is not None:
            joined = model.joined(self.offer[0])
            assert ready == model.accepts(self.offer[0])
            assert joins == (joined is not None)
            accepted = self.offer if ready else None
        if self.beat is not None and takes[1]:
            self.beats.append((self.cycle, self.beat))
            self.beat = None
        if self.beat is None:
            self.beat = model.next_beat()
        if accepted is not None:
            before = model.begun
            burst = model.write(*accepted)
            begun = burst if model.begun > before else None
            assert line == burst.number % self.config.lines
            self.writes.append((self.cycle, accepted, burst))
            self.offer = None
        taken = takes[0] if offered else False
        if offered and taken:
            self.bursts.append((self.cycle, offered))
        model.step(taken, begun)

    def check_beat(self, sent: dict):
        """Compare strobes, `last`, and the bytes that have strobes."""
        wanted = self.beat
        assert wanted is not None
        assert (sent["strobes"], sent["last"]) == (wanted["strobes"], wanted["last"])
        value = sent["data"].to_bytes(self.config.beat_bytes, "little")
        for n, byte in enumerate(wanted["value"] or b""):
            assert not sent["strobes"] >> n & 1 or byte == value[n], (n, value, wanted)

    def memory(self) -> dict[int, list[int]]:
        """Return the values written to each byte, in order."""
        values: dict[int, list[int]] = {}
        beats = iter(self.beats)
        for _, burst in self.bursts:
            for beat in range(burst["beat"], burst["beat"] + burst["further"] + 1):
                _, sent = next(beats)
                assert sent["last"] == (beat == burst["beat"] + burst["further"])
                for n in range(self.config.beat_bytes):
                    if sent["strobes"] >> n & 1:
                        values.setdefault(beat * self.config.beat_bytes + n, []).append(
                            sent["value"][n]
                        )
        assert next(beats, None) is None
        return values
