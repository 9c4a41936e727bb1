"""Parameters and statistics of the DRAM model."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...hw.config.checks import require_integer, require_power_of_two

__all__ = [
    "ChannelStatistics",
    "DramConfig",
    "Fault",
    "slowest_access",
    "traffic",
]

#: Longest time of an instruction with stalls, in average waits; it has up to 32 accesses.
PATIENCE = 100


@dataclass(frozen=True, kw_only=True)
class DramConfig:
    """Timing of DRAM behind the AXI masters, one channel each; all times are in clock cycles.

    The first beat of a read at an idle channel comes `latency` cycles after its address was
    accepted. Further bursts stream at the channel's share of `bytes_per_cycle`.

    Parameters
    ----------
    bytes_per_cycle : float
        Bandwidth of all channels together, sum of reads and writes.
    latency : int
        Cycles from an accepted read address to its first beat, and from the last beat of a write
        to its response.
    banks : int
        Banks of a channel; a power of two.
    row_bytes : int
        Bytes of an open row; a power of two.
    row_cycle : int
        Cycles between two rows of one bank. An access to the open row has no delay.
    activate_gap : int
        Cycles between rows opened in different banks of a channel.
    turnaround : int
        Cycles lost when the bus changes between reads and writes.
    read_queue : int
        Read bursts that a channel accepts before the first is answered.
    write_buffer_bytes : int
        Bytes of writes that a channel buffers before DRAM; a multiple of 4096.
    stall : float
        Fraction of cycles in which a ready or valid signal is held low, at random.
    jitter : int
        Maximum additional random cycles of a read, so that reads overtake each other, and of a
        write, which then takes effect at any time before its response.
    seed : int
        Seed of the random stalls and of the jitter.

    """

    bytes_per_cycle: float = 64.0
    latency: int = 100
    banks: int = 16
    row_bytes: int = 2048
    row_cycle: int = 20
    activate_gap: int = 2
    turnaround: int = 6
    read_queue: int = 64
    write_buffer_bytes: int = 4096
    stall: float = 0.0
    jitter: int = 0
    seed: int = 0

    def __post_init__(self):
        for name, value in vars(self).items():
            if isinstance(value, np.generic):  # results and checkpoints hold plain numbers
                object.__setattr__(self, name, value.item())
        if not 0 < self.bytes_per_cycle <= 1024:
            raise ValueError(
                f"bytes_per_cycle must be above 0 and at most 1024, not {self.bytes_per_cycle!r}"
            )
        require_integer("latency", self.latency, 1, 10_000)
        require_power_of_two("banks", self.banks, 1, 256)
        require_power_of_two("row_bytes", self.row_bytes, 64, 1 << 16)
        require_integer("row_cycle", self.row_cycle, 0, 1000)
        require_integer("activate_gap", self.activate_gap, 0, 1000)
        require_integer("turnaround", self.turnaround, 0, 1000)
        require_integer("read_queue", self.read_queue, 1, 1024)
        require_integer("write_buffer_bytes", self.write_buffer_bytes, 4096, 1 << 20)
        if self.write_buffer_bytes % 4096:
            raise ValueError(
                f"write_buffer_bytes must be a multiple of 4096, not {self.write_buffer_bytes!r}"
            )
        if not 0 <= self.stall < 1:
            raise ValueError(f"stall must be at least 0 and below 1, not {self.stall!r}")
        require_integer("jitter", self.jitter, 0, 10_000)
        require_integer("seed", self.seed, 0, (1 << 63) - 1)

    @property
    def slowest(self) -> int:
        """Cycles from request to answer that no access exceeds in practice."""
        return slowest_access(self.latency + self.jitter, self.stall, self.stall)


def slowest_access(latency: int, *shares: float) -> int:
    """Return cycles that no access exceeds in practice, with these shares of stalled cycles."""
    return latency + sum(math.ceil(PATIENCE / (1 - share)) for share in shares if share)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Address range whose reads or writes are answered with SLVERR."""

    start: int
    end: int
    reads: bool = True
    writes: bool = True


@dataclass(frozen=True)
class ChannelStatistics:
    """Counters of a channel: `bus_cycles` with data, `read_wait_cycles` of queued reads."""

    read_bytes: int
    write_bytes: int
    read_bursts: int
    write_bursts: int
    row_hits: int
    row_misses: int
    bus_cycles: float
    read_wait_cycles: int

    def since(self, earlier: "ChannelStatistics") -> "ChannelStatistics":
        """Return the counts since `earlier`."""
        before, after = dataclasses.astuple(earlier), dataclasses.astuple(self)
        return ChannelStatistics(*(b - a for a, b in zip(before, after, strict=True)))


def traffic(
    channels: Sequence[ChannelStatistics], cycles: int, bytes_per_cycle: float
) -> dict[str, float]:
    """Return the traffic of all channels in so many cycles, for a result file.

    `utilization` is the share of the peak of `bytes_per_cycle` that was used.
    """
    read = sum(channel.read_bytes for channel in channels)
    written = sum(channel.write_bytes for channel in channels)
    used = (read + written) / max(1, cycles)
    return {
        "cycles": cycles,
        "read_bytes": read,
        "written_bytes": written,
        "row_hits": sum(channel.row_hits for channel in channels),
        "row_misses": sum(channel.row_misses for channel in channels),
        "bytes_per_cycle": used,
        "utilization": used / bytes_per_cycle,
    }
