"""Check for races on the instruction-set model: works of units, and reports."""

import ctypes
from collections.abc import Sequence

from ...hw.config import ClusterConfig
from .device.region import Region
from .device.work_queue import Work
from .native_machine import NativeMachine
from .native_types import NativeRace, NativeRegion, NativeWork
from .outcome import Partner

__all__ = ["Races"]

#: Advice by `Lack` of native/races/races.hpp; `{before}` is the warp of the earlier access.
ADVICE = (
    "",
    "nothing orders the two: synchronise between them by a barrier, a launch, or a wait for a unit",
    "they are ordered, but the store may still be on its way: call vx_fence after it, in {before}",
    "they are ordered, but the core may hold an older copy of the line: call vx_fence before the "
    "load, after the two warps have synchronised",
    "the access may not be complete when the command starts: call vx_fence between the two",
)


class Races:
    """Watcher of the units, and reporter of races; the C++ of the model detects them.

    Streams are works of one unit and kind. They are numbered as they appear, and their works by
    their order, from 1 on.

    Parameters
    ----------
    native : NativeMachine
    config : ClusterConfig

    """

    def __init__(self, native: NativeMachine, config: ClusterConfig):
        assert config.core is not None
        self.native, self.warps = native, config.core.warps
        self.all_warps = config.cores * config.core.warps
        self.reset()

    def reset(self) -> None:
        """Forget all works."""
        self.streams: dict[tuple[str, str], int] = {}
        self.names: list[list[str]] = []  # of the works of each stream
        self.numbers: dict[int, tuple[int, int]] = {}  # of pending works: stream and number

    def started(self, work: Work) -> None:
        """Record the accesses of a work that the current instruction has started."""
        stream = self.streams.setdefault((work.unit, work.kind), len(self.streams))
        if stream == len(self.names):
            self.names.append([])
        self.names[stream].append(work.what)
        before = [self.numbers[id(other)] for other in work.awaited]
        self.numbers[id(work)] = (stream, len(self.names[stream]))
        regions = [region_of(each, is_store=False) for each in work.reads]
        regions += [region_of(each, is_store=True) for each in work.writes]
        self.native.call(
            "iss_work_starts",
            stream,
            (NativeRegion * len(regions))(*regions),
            len(regions),
            (NativeWork * len(before))(*(NativeWork(*each) for each in before)),
            len(before),
        )

    def ended(self, work: Work) -> None:
        """Record the end of a work."""
        stream, _ = self.numbers.pop(id(work))
        self.native.call("iss_work_ends", stream)

    def awaited(self, unit: str, kinds: Sequence[str]) -> None:
        """Record that the current instruction has read that works are done."""
        for kind in kinds:
            if (unit, kind) in self.streams:
                self.native.call("iss_work_is_known", self.streams[unit, kind])

    def found(self) -> tuple[str, Partner]:
        """Return the last race in words, and its earlier access."""
        race = NativeRace()
        self.native.call("iss_race", ctypes.byref(race))
        agent, what = race.agent, f"the {'store' if race.is_store else 'load'} of "
        if agent >= self.all_warps:
            stream = agent - self.all_warps
            what = f"{self.names[stream][race.time - 1]}, started by "
            agent = self.native.call("iss_work_starter", stream, race.time)
        core, warp = divmod(agent, self.warps)
        before = f"core {core}, warp {warp}"
        advice = ADVICE[race.lack].format(before=before)
        partner = Partner(what + before, core, warp, race.pc, advice)
        mine = f"{'store' if race.with_store else 'load'} of {race.size} bytes"
        if race.later >= self.all_warps:
            work = self.names[race.later - self.all_warps][race.later_time - 1]
            mine = f"{'write' if race.with_store else 'read'} by {work}"
        return f"{mine} at 0x{race.address:08x}, in no order with {partner.what}", partner


def region_of(region: Region, *, is_store: bool) -> NativeRegion:
    """Return a region in its C++ structure."""
    return NativeRegion(region.start, region.pitch, region.rows, region.width, is_store)
