"""Stall reasons of issue slots and of warps."""

from amaranth import *
from amaranth.lib import data, enum

from ...config import PipelineConfig

__all__ = ["WARP_REASONS", "StallReason", "nearest_reason", "reason_of_each", "waits_layout"]


class StallReason(enum.IntEnum, shape=4):
    """Stall reason of an issue slot, ordered by how close an instruction was to issue.

    The first four apply to slots only: a warp without a later reason can issue.
    """

    NONE = 0  #: issued; of a warp: ready
    COLLECTORS_FULL = 1  #: collectors full: the previously issued instruction still waits for one
    DUAL_ISSUE = 2  #: dual-issue: the second instruction cannot issue together with the first
    INACTIVE_SET = 3  #: outside the active set of the scheduler, though ready
    SCOREBOARD = 4  #: scoreboard: a register is pending
    MEMORY = 5  #: scoreboard: a pending register is the destination of a load
    DRAIN = 6  #: serialisation, or a unit without room: earlier instructions must complete first
    BLOCKED = 7  #: a branch or control instruction has not executed yet
    NO_INSTRUCTION = 8  #: the instruction buffer is empty
    BARRIER = 9  #: waits at a barrier, or sleeps until a unit has made progress
    IDLE = 10  #: not active


#: Stall reasons of a warp; at most one of them holds at a time.
WARP_REASONS = tuple(reason for reason in StallReason if reason >= StallReason.SCOREBOARD)


def waits_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of all warps' reasons: the stalled warps by `WARP_REASONS`."""
    return data.StructLayout({reason.name.lower(): config.warps for reason in WARP_REASONS})


def reason_of_each(waits: data.View, warps: int) -> list[Value]:
    """Return the `StallReason` of each warp; `waits` has at most one for each."""
    vectors = {reason: getattr(waits, reason.name.lower()) for reason in WARP_REASONS}
    bits = []
    for bit in range(Shape.cast(StallReason).width):
        joined = Const(0, warps)
        for reason, vector in vectors.items():
            if reason >> bit & 1:
                joined = joined | vector
        bits.append(joined)
    return [Cat(joined[warp] for joined in bits) for warp in range(warps)]


def nearest_reason(waits: data.View) -> Value:
    """Return the reason of the warp that was closest to issue, if none could issue."""
    reason = Value.cast(Const(StallReason.IDLE, StallReason))
    for candidate in reversed(WARP_REASONS[:-1]):
        held = getattr(waits, candidate.name.lower())
        reason = Mux(held.any(), Const(candidate, 4), reason)
    return reason
