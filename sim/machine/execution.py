"""What came of a command list."""

from dataclasses import dataclass

import numpy as np

from ..harness.dram import ChannelStatistics

__all__ = ["Execution"]


@dataclass(frozen=True)
class Execution:
    """What came of a command list; cycles count from its beginning.

    Attributes
    ----------
    cycles : int
        Clock cycles until the list was done and the machine idle.
    first_command : int or None
        When the first write was accepted (its AW handshake).
    last_response : int or None
        When the DMA took its last write response; in a design that does not show it, when that
        of any AXI master was taken.
    reads : numpy.ndarray
        Results of the READ commands.
    errors : tuple
        (command, address, response) of each refused access.
    seconds : float
        Wall-clock time.
    channels : tuple of ChannelStatistics
        What each DRAM channel did.
    clocked : dict
        Cycles in which each clock domain had its clock.

    """

    cycles: int
    first_command: int | None
    last_response: int | None
    reads: np.ndarray
    errors: tuple[tuple[int, int, int], ...]
    seconds: float
    channels: tuple[ChannelStatistics, ...]
    clocked: dict[str, int]

    @property
    def elapsed(self) -> int:
        """Cycles from the first command's acceptance to the last write response."""
        if self.first_command is None or self.last_response is None:
            return self.cycles
        return self.last_response - self.first_command

    @property
    def cycles_per_second(self) -> float:
        """Simulated cycles per second of wall-clock time."""
        return self.cycles / max(self.seconds, 1e-9)
