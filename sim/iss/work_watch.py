"""Watcher of the units' works: it reports them to the C++ model, which checks their accesses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.native_interface import NativeStructure
from .device.region import Region
from .device.work_queue import Work
from .native_machine import NativeMachine
from .native_types import ISS

__all__ = ["WorkWatch"]


class WorkWatch:
    """Watcher of the units.

    Streams are works of one unit and kind of a cluster. They are numbered as they appear, and their
    works by their order, from 1 on.

    Parameters
    ----------
    native : NativeMachine

    """

    def __init__(self, native: NativeMachine):
        self.native = native
        self.reset()

    def reset(self) -> None:
        """Drop all works."""
        self.streams: dict[tuple[int, str, str], int] = {}
        self.names: list[list[str]] = []  # of the works of each stream
        self.numbers: dict[int, tuple[int, int]] = {}  # of pending works: stream and number

    def of(self, cluster: int) -> "ClusterWatch":
        """Return the watcher of the units of a cluster."""
        return ClusterWatch(self, cluster)

    def started(self, cluster: int, work: Work) -> None:
        """Record the accesses of a work that the current instruction has started."""
        stream = self.streams.setdefault((cluster, work.unit, work.kind), len(self.streams))
        if stream == len(self.names):
            self.names.append([])
        self.names[stream].append(work.what)
        before = [self.numbers[id(other)] for other in work.awaited]
        self.numbers[id(work)] = (stream, len(self.names[stream]))
        regions = [region_of(region, is_store=False) for region in work.reads]
        regions += [region_of(region, is_store=True) for region in work.writes]
        areas = (ISS.structure("UnitRegion") * len(regions))(*regions)
        works = np.array(before, np.uint32).reshape(-1, 2)
        self.native.call("iss_work_starts", stream, areas, len(areas), works, len(works))

    def ended(self, work: Work) -> None:
        """Record the end of a work."""
        stream, _ = self.numbers.pop(id(work))
        self.native.call("iss_work_ends", stream)

    def awaited(self, cluster: int, unit: str, kinds: Sequence[str]) -> None:
        """Record that the current instruction has read that works are done."""
        for kind in kinds:
            if (cluster, unit, kind) in self.streams:
                self.native.call("iss_work_is_known", self.streams[cluster, unit, kind])

    def name(self, stream: int, number: int) -> str:
        """Return the name of a work by its stream and its number."""
        return self.names[stream][number - 1]


@dataclass(frozen=True)
class ClusterWatch:
    """Watcher of the units of a cluster, in the interface of `Watcher`."""

    watch: WorkWatch
    cluster: int

    def started(self, work: Work) -> None:
        """Record the accesses of a work that the current instruction has started."""
        self.watch.started(self.cluster, work)

    def ended(self, work: Work) -> None:
        """Record the end of a work."""
        self.watch.ended(work)

    def awaited(self, unit: str, kinds: Sequence[str]) -> None:
        """Record that the current instruction has read that works are done."""
        self.watch.awaited(self.cluster, unit, kinds)


def region_of(region: Region, *, is_store: bool) -> NativeStructure:
    """Return a region in its C++ structure."""
    names = ("start", "pitch", "rows", "width")
    sizes = {name: getattr(region, name) for name in names}
    return ISS.structure("UnitRegion")(**sizes, is_store=is_store)
