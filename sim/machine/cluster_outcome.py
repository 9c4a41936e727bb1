"""What came of a run of programs on a whole cluster."""

from dataclasses import dataclass

from ..harness.dram import ChannelStatistics
from .core_outcome import CoreOutcome

__all__ = ["ClusterOutcome"]


@dataclass(frozen=True, kw_only=True)
class ClusterOutcome(CoreOutcome):
    """What a cluster has done since the host began; cycles count from then.

    Attributes
    ----------
    exit_codes : tuple of int
        By core.
    first_command : int or None
        When the host's first write, that which starts the cores, was accepted.
    last_response : int or None
        When the DMA took its last write response.
    cores_end : int
        From when on no core was busy.
    marks : tuple of (int or None, int or None)
        By core: when its first marker of a beginning was done, and its last of an end, those of
        `hw.isa.markers`.
    begins, ends : int
        How many of them were done, by all warps.
    channels : tuple of ChannelStatistics
        What each DRAM channel did.
    marked_channels : tuple of ChannelStatistics
        What each did from the first marker of a beginning on; as much as in all without one.
    violation : str
        Which rule of AXI was broken, and when.
    waits : str
        After ``HANG`` and ``DEADLOCK``: what units, AXI and DRAM wait for.

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
        """Cycles from the first command's acceptance to the DMA's last write response."""
        if self.first_command is None or self.last_response is None:
            return self.cycles
        return self.last_response - self.first_command

    @property
    def flush_cycles(self) -> int:
        """Cycles from the end of the last core to that of the run, when DRAM has everything."""
        return self.cycles - self.cores_end

    @property
    def first_begin(self) -> int | None:
        """When the first marker of a beginning was done, by any core."""
        return min((begin for begin, _ in self.marks if begin is not None), default=None)

    @property
    def last_end(self) -> int | None:
        """When the last marker of an end was done, by any core."""
        return max((end for _, end in self.marks if end is not None), default=None)

    @property
    def measured(self) -> int | None:
        """Cycles from the first marker of a beginning to the last of an end."""
        if self.first_begin is None or self.last_end is None:
            return None
        return self.last_end - self.first_begin
