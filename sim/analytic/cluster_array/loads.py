"""Timeline of the loads of a product: DMA contexts, AXI masters and banks of shared memory."""

from dataclasses import dataclass

from ....hw.config import MachineConfig
from ....kernels.gemm.problem import ceil_div
from ...harness.dram import DramConfig
from ..transfers import Load
from . import program as timing

__all__ = ["LoadTimeline"]


@dataclass(slots=True)
class LastLoad:
    """Load whose end may still be delayed by the next one.

    `end` is its end without that, `first` the arrival of its first beat.
    """

    end: float
    first: float
    lines: int
    bank: int


class LoadTimeline:
    """Timeline of loads in the order of the program.

    A load begins when a DMA context is free. Its data follow the round trip to DRAM at the least of
    three rates: the bandwidth of DRAM, a beat per master, and a line per bank of shared memory.
    Loads whose rows begin within beats keep the masters in step, and the load after them too, so
    that they write one line at a time. An L2 slice answers a window of bursts, one per MSHR, before
    it requests the next: each further window exposes the DRAM latency, unless DRAM is too slow for
    that to matter. In step, a load that has waited for a context exposes a part of it.

    Parameters
    ----------
    config : MachineConfig
    memory : DramConfig

    """

    def __init__(self, config: MachineConfig, memory: DramConfig):
        assert config.dma is not None  # matrix units need one
        self.contexts = config.dma.contexts
        self.beat_bytes = config.axi.beat_bytes
        self.memory = memory
        self.window = config.l2.mshrs
        axi = config.axi
        window_bytes = self.window * axi.interleave_bytes * axi.masters
        slack = window_bytes / memory.bytes_per_cycle - self.window * axi.burst_beats
        self.pause = max(0.0, memory.latency - timing.WINDOW_OVERLAP - max(0.0, slack))
        self.ends: list[float] = []  # of all loads but the last
        self.last: LastLoad | None = None
        self.masters_free = 0.0
        self.bank_free: dict[int, float] = {}
        self.bursts = 0  # of a slice, since the loads were last idle
        self.was_aligned = True  # the last load

    def done(self, number: int) -> int:
        """Return when load `number` is done, as far as the loads after it are known."""
        if number == len(self.ends):
            return self.busy_until
        return round(self.ends[number])

    @property
    def busy_until(self) -> int:
        """When the last load is done."""
        return round(self.last.end) if self.last is not None else 0

    def windows(self) -> int:
        """Return the windows of bursts that were answered before the last one was requested."""
        return max(0, ceil_div(self.bursts - timing.WINDOW_EARLY, self.window) - 1)

    def add(self, load: Load, issue: float, bank: int):
        """Append a load that is queued at `issue` and writes `bank`."""
        last, before = self.last, len(self.ends) + (self.last is not None)
        start = issue
        if before >= self.contexts:
            start = max(start, self.done(before - self.contexts))
        first = start + self.memory.latency + timing.READ_ROUND_TRIP
        in_step = not (load.is_aligned and self.was_aligned)
        self.was_aligned = load.is_aligned
        if in_step:
            exposed = max(0, self.memory.latency - timing.STEP_OVERLAP) * timing.STEP_EXPOSED / 100
            pause = exposed if start > issue else 0.0
        else:
            pause = self.pauses(load, first)
        fetched = 0 if before else timing.FETCHED_BYTES
        transfer = (load.beats * self.beat_bytes + fetched) / self.memory.bytes_per_cycle
        steps = load.lines if in_step else max(load.steps)
        self.masters_free = max(self.masters_free, first) + max(steps, transfer) + pause
        self.bank_free[bank] = max(self.bank_free.get(bank, 0), first) + load.lines + pause
        end = max(self.masters_free, self.bank_free[bank])
        if last is not None:
            overlap = last.end - max(first, last.first)
            if overlap > 0:
                shared = min(overlap, load.lines) if last.bank == bank else 0.0
                last.end += shared + pause * min(1.0, overlap / max(1, last.lines))
            end = max(end, last.end)
            self.ends.append(last.end)
        self.last = LastLoad(end, first, load.lines, bank)

    def pauses(self, load: Load, first: float) -> float:
        """Return the cycles in which a load waits for windows of bursts."""
        if first >= self.busy_until:
            self.bursts = 0
        before = self.windows()
        self.bursts += max(load.bursts)
        return (self.windows() - before) * self.pause
