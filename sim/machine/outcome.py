"""Outcome of a run on a machine."""

from dataclasses import dataclass

import numpy as np

from ..harness.dram import ChannelStatistics

__all__ = ["Execution", "Outcome"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Time and traffic of a run; cycles count from its start.

    Attributes
    ----------
    cycles : int
        Clock cycles until the work was done and the machine idle, or until the run stopped.
    first_command : int or None
        Cycle of the host's first accepted write (its AW handshake).
    last_response : int or None
        Cycle in which the DMA accepted its last write response. In a design without a port for
        it, the cycle of the last write response of any AXI master.
    seconds : float
        Wall-clock time.
    channels : tuple of ChannelStatistics
        Statistics of each DRAM channel.
    clocked : dict
        Clocked cycles of each clock domain.

    """

    cycles: int
    first_command: int | None
    last_response: int | None
    seconds: float
    channels: tuple[ChannelStatistics, ...]
    clocked: dict[str, int]

    @property
    def elapsed(self) -> int:
        """Cycles from the accepted first command to the last write response."""
        if self.first_command is None or self.last_response is None:
            return self.cycles
        return self.last_response - self.first_command

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles per second of wall-clock time."""
        return self.cycles / max(self.seconds, 1e-9)


@dataclass(frozen=True, kw_only=True)
class Execution(Outcome):
    """Outcome of a command list.

    Attributes
    ----------
    reads : numpy.ndarray
        Results of the READ commands.
    errors : tuple
        (command, address, response) of each access with an error response.

    """

    reads: np.ndarray
    errors: tuple[tuple[int, int, int], ...]
