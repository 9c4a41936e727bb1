"""Fault causes of instructions, and the layout of a fault report."""

from amaranth.lib import data, enum

from ...config import PipelineConfig, RunControlConfig
from ...lib.interfaces.core_memory import warp_shape

__all__ = ["FaultCause", "fault_layout"]


class FaultCause(enum.IntEnum, shape=4):
    """Reason why an instruction was not executed."""

    ILLEGAL = 0  #: not an instruction of this core, or a reserved rounding mode
    FETCH = 1  #: no memory at the instruction's address
    UNKNOWN_CSR = 2
    READ_ONLY_CSR = 3
    STACK_OVERFLOW = 4
    STACK_UNDERFLOW = 5
    MISALIGNED_JUMP = 6
    DIVERGENT_BRANCH = 7
    BARRIER_NUMBER = 8  #: no such barrier
    BARRIER_COUNT = 9  #: count of 0, or larger than the number of warps or cores
    BARRIER_DISAGREES = 10  #: others wait at the barrier with a different count
    BARRIER_FULL = 11  #: all participants have arrived and the barrier is not open yet
    WSPAWN_COUNT = 12  #: more warps than the core has
    NO_PRODUCT = 13  #: a wait for products of a warp that has started none
    INACTIVE_THREADS = 14  #: a tensor instruction of a warp with inactive threads
    NO_PROGRESS = 15  #: a wait for an address that is no register to wait for


def fault_layout(config: PipelineConfig | RunControlConfig) -> data.StructLayout:
    """Return the layout of a fault: the instruction changed no state, and its warp stops.

    ``lanes`` is the mask of the threads concerned. ``address`` is the target of a misaligned
    jump or of a wait; for other causes it is undefined.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "pc": 32,
        "cause": FaultCause,
        "lanes": config.threads,
        "address": 32,
    })
