"""Outcome of a run of programs on a whole cluster."""

from dataclasses import dataclass

from ..harness.dram import ChannelStatistics
from .core_outcome import CoreOutcome

__all__ = ["ClusterOutcome"]


@dataclass(frozen=True, kw_only=True)
class ClusterOutcome(CoreOutcome):
    """Outcome of a cluster's run; cycles count from the start of the host.

    Attributes
    ----------
    exit_codes : tuple of int
        Exit code of each core.
    first_command : int or None
        Cycle in which the host's first write, which starts the cores, was accepted.
    last_response : int or None
        Cycle in which the DMA accepted its last write response.
    cores_end : int
        First cycle after which no core was busy.
    marks : tuple of (int or None, int or None)
        Per core: completion of its first begin marker and of its last end marker, those of
        `hw.isa.markers`.
    begins, ends : int
        Completed begin and end markers of all warps.
    channels : tuple of ChannelStatistics
        Statistics of each DRAM channel.
    marked_channels : tuple of ChannelStatistics
        Statistics of each channel from the first begin marker on; equal to `channels` without one.
    violation : str
        Violated AXI rule and its cycle.
    waits : str
        After ``HANG`` and ``DEADLOCK``: wait states of units, AXI and DRAM.

    """

    exit_codes: tuple[int, ...] = ()
    first_command: int | None = None
    last_response: int | None = None
    marks: tuple[tuple[int | None, int | None], ...] = ()
    begins: int = 0
    ends: int = 0
    cores_end: int = 0
    channels: tuple[ChannelStatistics, ...] = ()
    marked_channels: tuple[ChannelStatistics, ...] = ()
    violation: str = ""
    waits: str = ""

    @property
    def elapsed(self) -> int:
        """Cycles from the accepted first command to the DMA's last write response."""
        if self.first_command is None or self.last_response is None:
            return self.cycles
        return self.last_response - self.first_command

    @property
    def flush_cycles(self) -> int:
        """Cycles of the final write-back: from the end of the last core to the end of the run."""
        return self.cycles - self.cores_end

    @property
    def first_begin(self) -> int | None:
        """Cycle of the first completed begin marker of any core."""
        return min((begin for begin, _ in self.marks if begin is not None), default=None)

    @property
    def last_end(self) -> int | None:
        """Cycle of the last completed end marker of any core."""
        return max((end for _, end in self.marks if end is not None), default=None)

    @property
    def measured(self) -> int | None:
        """Cycles from the first begin marker to the last end marker."""
        if self.first_begin is None or self.last_end is None:
            return None
        return self.last_end - self.first_begin
