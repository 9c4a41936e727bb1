"""Transaction barriers in shared memory: operations, faults, limits, layout of their 8 bytes."""

from amaranth.hdl import signed
from amaranth.lib import data, enum

__all__ = [
    "BARRIER_BYTES",
    "BARRIER_LAYOUT",
    "BARRIER_MARK",
    "MOST_ARRIVALS",
    "MOST_TRANSACTION_BYTES",
    "BarrierFault",
    "BarrierOperation",
]

#: Size and alignment of a barrier in bytes.
BARRIER_BYTES = 8
#: Largest number of arrivals of a phase, and of bytes by which expected and completed ones differ.
MOST_ARRIVALS = MOST_TRANSACTION_BYTES = (1 << 20) - 1
#: Value of the field ``mark`` of a barrier. Bytes with another one, such as zeros, are no barrier.
BARRIER_MARK = 0b10

#: The 8 bytes of a barrier, bit 0 first: arrivals that the phase still needs, arrivals of each
#: phase to come, expected less completed bytes, parity of the phase.
BARRIER_LAYOUT = data.StructLayout({
    "pending": 20,
    "expected": 20,
    "bytes": signed(21),
    "parity": 1,
    "mark": 2,
})


class BarrierOperation(enum.IntEnum, shape=4):
    """Operations on a transaction barrier, as funct7 encodes them; n is rs2.

    After an operation that leaves no pending arrival and no byte, the phase completes: the parity
    changes, and all expected arrivals are pending. An operation on bytes and arrivals is one step.
    """

    INIT = 0  #: barrier of n arrivals, in phase 0
    INVAL = 1  #: no barrier any more
    ARRIVE = 2  #: n arrivals
    ARRIVE_DROP = 3  #: n arrivals, and n less in each phase to come
    ARRIVE_EXPECT_TX = 4  #: n bytes more, then 1 arrival
    ARRIVE_DROP_EXPECT_TX = 5  #: the same, and 1 arrival less in each phase to come
    EXPECT_TX = 6  #: n bytes more
    COMPLETE_TX = 7  #: n bytes less
    TEST_WAIT = 8  #: whether the phase of parity n has completed
    TRY_WAIT = 9  #: the same, at the latest after a limited time
    WAIT = 10  #: the same, when it is true


class BarrierFault(enum.IntEnum, shape=3):
    """Reason for which an operation has no effect."""

    NONE = 0
    NO_BARRIER = 1  #: the bytes are no barrier
    COUNT = 2  #: the number of arrivals is not 1 to `MOST_ARRIVALS`
    ARRIVALS = 3  #: more arrivals than are pending
    DROPS = 4  #: phases to come would expect no arrival
    BYTES = 5  #: the bytes would differ by more than `MOST_TRANSACTION_BYTES`
    PARITY = 6  #: the parity is neither 0 nor 1
    ADDRESS = 7  #: not a multiple of 8 bytes within shared memory
