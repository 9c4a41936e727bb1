"""Reasons for the end of a run."""

import enum

__all__ = ["CoreStop", "Stop"]


class Stop(enum.IntEnum):
    """`Stop` of native/stop.hpp."""

    NONE = 0
    DONE = 1
    HOST_ERROR = 2
    VIOLATION = 3
    HANG = 4
    LIMIT = 5
    FAULT = 6
    MISMATCH = 7
    DEADLOCK = 8


class CoreStop(enum.Enum):
    """Why a run ended.

    ``HANG``: nothing moved for as long as the watchdog waits. ``DEADLOCK``: all warps there are
    wait at barriers. ``MISMATCH``: the gateware did something else than the instruction-set model.
    ``LIMIT``: the run can go on. ``VIOLATION``: a cluster broke the rules of AXI.
    """

    DONE = "done"
    FAULT = "fault"
    MISMATCH = "mismatch"
    DEADLOCK = "deadlock"
    HANG = "hang"
    LIMIT = "limit"
    VIOLATION = "violation"
