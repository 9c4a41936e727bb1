"""Reasons for the end of a run."""

import enum

__all__ = ["CoreStopReason", "StopReason"]


class StopReason(enum.IntEnum):
    """`StopReason` of sim/native/stop_reason.hpp."""

    NONE = 0
    DONE = 1
    HOST_ERROR = 2
    VIOLATION = 3
    HANG = 4
    LIMIT = 5
    FAULT = 6
    MISMATCH = 7
    DEADLOCK = 8


class CoreStopReason(enum.Enum):
    """Stop reason of a run.

    ``HANG``: no progress within the watchdog's time. ``DEADLOCK``: all active warps wait at
    barriers. ``MISMATCH``: the RTL differs from the instruction-set model. ``LIMIT``: the run can
    continue. ``VIOLATION``: a cluster violated the AXI protocol.
    """

    DONE = "done"
    FAULT = "fault"
    MISMATCH = "mismatch"
    DEADLOCK = "deadlock"
    HANG = "hang"
    LIMIT = "limit"
    VIOLATION = "violation"
