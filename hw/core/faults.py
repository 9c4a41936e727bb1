"""What can be wrong with an instruction, and how it is reported."""

from amaranth.lib import data, enum

from ..config import CoreConfig
from ..lib.interfaces.core_memory import warp_shape

__all__ = ["FaultCause", "fault_layout"]


class FaultCause(enum.IntEnum, shape=4):
    """Why an instruction was not executed."""

    ILLEGAL = 0  #: no instruction of this core, or a reserved rounding mode
    FETCH = 1  #: no memory where the instruction should be
    UNKNOWN_CSR = 2
    READ_ONLY_CSR = 3
    STACK_OVERFLOW = 4
    STACK_UNDERFLOW = 5
    MISALIGNED_JUMP = 6
    DIVERGENT_BRANCH = 7
    BARRIER_NUMBER = 8  #: there is no such barrier
    BARRIER_COUNT = 9  #: a barrier of none, or of more than there are
    BARRIER_DISAGREES = 10  #: others wait there with another count
    BARRIER_FULL = 11  #: all it is for have arrived, and it is not open yet
    WSPAWN_COUNT = 12  #: more warps than there are


def fault_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a fault: the instruction has changed nothing, and its warp does not go on.

    ``lanes`` are the threads concerned; ``address`` is where a misaligned jump led, and means
    nothing for other causes.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "pc": 32,
        "cause": FaultCause,
        "lanes": config.threads,
        "address": 32,
    })
