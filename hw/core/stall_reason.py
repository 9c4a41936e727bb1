"""Why an issue slot stays empty, and what each warp waits for."""

from amaranth import *
from amaranth.lib import data, enum

from ..config import CoreConfig

__all__ = ["WARP_REASONS", "StallReason", "nearest_reason", "reason_of_each", "waits_layout"]


class StallReason(enum.IntEnum, shape=4):
    """Why nothing was issued, in the order of how near to being issued something was.

    The first four are of slots alone: a warp for which nothing else holds could be issued.
    """

    NONE = 0  #: issued; of a warp: nothing keeps it
    FULL = 1  #: the instruction issued before still waits for a collector
    PAIR = 2  #: what follows the instruction issued beside it cannot go with it
    OUTSIDE = 3  #: ready, but the scheduler has it outside its active set
    DATA = 4  #: a register is pending
    MEMORY = 5  #: a register is pending, of which a load is the producer
    DRAIN = 6  #: what was issued before has to be done first
    BLOCKED = 7  #: a branch or control instruction has not been carried out
    NO_INSTRUCTION = 8  #: the instruction buffer is empty
    BARRIER = 9  #: waits at a barrier
    IDLE = 10  #: not active


#: What can hold a warp back; at most one of them at a time does.
WARP_REASONS = tuple(reason for reason in StallReason if reason >= StallReason.DATA)


def waits_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of all warps' reasons: for each of `WARP_REASONS`, the warps it holds back."""
    return data.StructLayout({reason.name.lower(): config.warps for reason in WARP_REASONS})


def reason_of_each(waits, warps: int) -> list[Value]:
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


def nearest_reason(waits) -> Value:
    """Return the reason of the warp that was nearest to being issued, if none could be."""
    reason = Value.cast(Const(StallReason.IDLE, StallReason))
    for candidate in reversed(WARP_REASONS[:-1]):
        held = getattr(waits, candidate.name.lower())
        reason = Mux(held.any(), Const(candidate, 4), reason)
    return reason
