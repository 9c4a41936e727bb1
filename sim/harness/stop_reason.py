"""Reasons for the end of a run."""

import enum

__all__ = ["StopReason"]


class StopReason(enum.IntEnum):
    """Stop reason of a run, numbered as `StopReason` of sim/native/stop_reason.hpp.

    ``HANG``: no progress within the watchdog's time. ``DEADLOCK``: all active warps wait at
    barriers. ``MISMATCH``: the RTL differs from the instruction-set model. ``LIMIT``: the run can
    continue. ``VIOLATION``: a cluster violated the AXI protocol, or a core that of its memory.
    """

    NONE = 0
    DONE = 1
    HOST_ERROR = 2
    VIOLATION = 3
    HANG = 4
    LIMIT = 5
    FAULT = 6
    MISMATCH = 7
    DEADLOCK = 8

    @property
    def text(self) -> str:
        """Name in results."""
        return self.name.lower()
