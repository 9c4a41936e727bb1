"""Causes of faults that cores report, and the reasons of the model that match them."""

from ...hw.core.control.faults import FaultCause
from ...hw.lib.interfaces.memory_fault import MemoryFault
from ..harness.interface import HARNESS
from ..iss.faults import REASONS, Reason
from ..iss.outcome import Cause

__all__ = ["CAUSES", "REASONS_OF_MODEL", "cause_masks", "cause_name"]

Causes = tuple[tuple[FaultCause | MemoryFault, tuple[Reason, ...]], ...]

#: For each cause reported by cores, the matching reasons of the model. A cause with several
#: reasons is coarser than they are.
CAUSES: Causes = (
    (
        FaultCause.ILLEGAL,
        (
            *(Reason.ILLEGAL, Reason.ATOMIC, Reason.ROUNDING, Reason.TENSOR, Reason.ACCUMULATOR),
            *(Reason.NO_UNITS, Reason.EXCHANGE, Reason.NO_TRANSACTION_BARRIERS),
        ),
    ),
    (FaultCause.FETCH, (Reason.NOT_PLACED,)),
    (FaultCause.UNKNOWN_CSR, (Reason.UNKNOWN_CSR,)),
    (FaultCause.READ_ONLY_CSR, (Reason.READ_ONLY_CSR,)),
    (FaultCause.STACK_OVERFLOW, (Reason.STACK_OVERFLOW,)),
    (FaultCause.STACK_UNDERFLOW, (Reason.STACK_UNDERFLOW,)),
    (FaultCause.MISALIGNED_JUMP, (Reason.MISALIGNED_JUMP,)),
    (FaultCause.DIVERGENT_BRANCH, (Reason.DIVERGENT_BRANCH, Reason.DIVERGENT_JUMP)),
    (FaultCause.BARRIER_NUMBER, (Reason.BARRIER_NUMBER,)),
    (FaultCause.BARRIER_COUNT, (Reason.BARRIER_COUNT,)),
    (FaultCause.BARRIER_DISAGREES, (Reason.BARRIER_DISAGREES,)),
    (FaultCause.BARRIER_FULL, (Reason.BARRIER_FULL,)),
    (FaultCause.WSPAWN_COUNT, (Reason.WSPAWN_COUNT,)),
    (FaultCause.NO_PRODUCT, (Reason.NO_PRODUCT,)),
    (FaultCause.INACTIVE_THREADS, (Reason.INACTIVE_THREADS,)),
    (FaultCause.NO_PROGRESS, (Reason.NO_PROGRESS,)),
    (
        MemoryFault.MISALIGNED,
        (Reason.MISALIGNED, Reason.OPERAND_MISALIGNED, Reason.OPERAND_SPLIT),
    ),
    (
        MemoryFault.UNADDRESSABLE,
        (Reason.LOAD_OUTSIDE, Reason.STORE_OUTSIDE, Reason.ATOMIC_OUTSIDE),
    ),
    (
        MemoryFault.REFUSED,
        (
            *(Reason.LOAD_OUTSIDE, Reason.STORE_OUTSIDE),
            *(Reason.LOAD_NOT_PLACED, Reason.STORE_NOT_PLACED),
            *(Reason.CONSOLE_LOAD, Reason.CONSOLE_SIZE, Reason.REGISTER_SIZE),
            *(Reason.ATOMIC_OUTSIDE, Reason.ATOMIC_NOT_PLACED),
            *(Reason.ATOMIC_CONSOLE, Reason.ATOMIC_REGISTER),
        ),
    ),
    (MemoryFault.NOT_SHARED, (Reason.OPERAND_OUTSIDE,)),
)
#: Unplaced DRAM of a cluster reads as 0, which is an illegal instruction.
CLUSTER_CAUSES: Causes = ((FaultCause.ILLEGAL, (Reason.NOT_PLACED,)),)
#: Causes that only the model reports.
OF_MODEL = (Cause.RACE, Cause.STACK_EXCEEDED)
#: Reasons that only the model has: cores in RTL do not execute operations on transaction barriers.
REASONS_OF_MODEL = (
    *(Reason.BARRIER_OUTSIDE, Reason.NO_BARRIER, Reason.ARRIVAL_COUNT, Reason.ARRIVAL_OVERFLOW),
    *(Reason.ARRIVAL_DROPS, Reason.TRANSACTION_BYTES, Reason.PHASE_PARITY),
)


def memory_cause() -> int:
    """Return the number from which on a cause of the C++ is one of memory."""
    return HARNESS.constant("LockstepSetup::kMemoryCause")


def cause_masks(is_cluster: bool) -> tuple[int, ...]:
    """Return by reason of the model the mask of the C++ causes that match it, or `kRace`."""
    masks = [0] * HARNESS.constant("LockstepSetup::kReasons")
    for cause, reasons in CAUSES + (CLUSTER_CAUSES if is_cluster else ()):
        bit = cause + (memory_cause() if isinstance(cause, MemoryFault) else 0)
        for reason in reasons:
            masks[REASONS.index(reason)] |= 1 << bit
    for number, reason in enumerate(REASONS):
        if reason.cause in OF_MODEL:
            masks[number] |= 1 << HARNESS.constant("LockstepSetup::kRace")
    return tuple(masks)


def cause_name(cause: int) -> str:
    """Return the name of a C++ cause."""
    if cause >= memory_cause():
        return MemoryFault(cause - memory_cause()).name
    return FaultCause(cause).name
