"""Golden model of a transaction barrier: one operation on its state."""

from dataclasses import dataclass, replace
from typing import Any

from .....hw.isa.transaction_barrier import (
    BARRIER_LAYOUT,
    BARRIER_MARK,
    MOST_ARRIVALS,
    MOST_TRANSACTION_BYTES,
    BarrierFault,
    BarrierOperation,
)

__all__ = ["BarrierOutcome", "BarrierState", "barrier_step", "packed_barrier", "unpacked_barrier"]

WAITS = (BarrierOperation.TEST_WAIT, BarrierOperation.TRY_WAIT, BarrierOperation.WAIT)
#: Operations on arrivals, those that reduce the expected ones, and the sign of those on bytes.
ARRIVALS = (
    BarrierOperation.ARRIVE,
    BarrierOperation.ARRIVE_DROP,
    BarrierOperation.ARRIVE_EXPECT_TX,
    BarrierOperation.ARRIVE_DROP_EXPECT_TX,
)
DROPS = (BarrierOperation.ARRIVE_DROP, BarrierOperation.ARRIVE_DROP_EXPECT_TX)
BYTES = {
    BarrierOperation.ARRIVE_EXPECT_TX: 1,
    BarrierOperation.ARRIVE_DROP_EXPECT_TX: 1,
    BarrierOperation.EXPECT_TX: 1,
    BarrierOperation.COMPLETE_TX: -1,
}


@dataclass(frozen=True, kw_only=True)
class BarrierState:
    """State of a barrier; the fields are those of `BARRIER_LAYOUT`."""

    pending: int
    expected: int
    bytes: int = 0
    parity: int = 0


@dataclass(frozen=True, kw_only=True)
class BarrierOutcome:
    """Outcome of an operation.

    Attributes
    ----------
    state : BarrierState or None
        The new state, None if there is no barrier. After a fault it is the old one.
    result : int
        Value of rd: of an arrival the parity before it, of a test whether the phase has completed,
        otherwise 0.
    completed : bool
        Whether the operation has completed a phase: the one of the parity before it.
    fault : BarrierFault

    """

    state: BarrierState | None
    result: int = 0
    completed: bool = False
    fault: BarrierFault = BarrierFault.NONE


def barrier_step(
    state: BarrierState | None, operation: BarrierOperation, operand: int = 0
) -> BarrierOutcome:
    """Return the outcome of an operation on a barrier; `state` is None if there is none."""
    fault = fault_of(state, operation, operand)
    if fault is not BarrierFault.NONE:
        return BarrierOutcome(state=state, fault=fault)
    if operation is BarrierOperation.INIT:
        return BarrierOutcome(state=BarrierState(pending=operand, expected=operand))
    if operation is BarrierOperation.INVAL:
        return BarrierOutcome(state=None)
    assert state is not None
    if operation in WAITS:
        return BarrierOutcome(state=state, result=int(state.parity != operand))
    after = changed(state, operation, operand)
    is_complete = after.pending == 0 and after.bytes == 0
    if is_complete:
        after = replace(after, pending=after.expected, parity=1 - after.parity)
    result = state.parity if operation in ARRIVALS else 0
    return BarrierOutcome(state=after, result=result, completed=is_complete)


def arrivals_of(operation: BarrierOperation, operand: int) -> int:
    """Return the number of arrivals of an operation."""
    if operation not in ARRIVALS:
        return 0
    return 1 if operation in BYTES else operand


def changed(state: BarrierState, operation: BarrierOperation, operand: int) -> BarrierState:
    """Return the state after an operation on arrivals and bytes, before its phase completes."""
    arrivals = arrivals_of(operation, operand)
    return replace(
        state,
        pending=state.pending - arrivals,
        expected=state.expected - arrivals * (operation in DROPS),
        bytes=state.bytes + operand * BYTES.get(operation, 0),
    )


def fault_of(state: BarrierState | None, operation: BarrierOperation, operand: int) -> BarrierFault:
    """Return the fault of an operation; of several the first in this order."""
    counts = operation in (
        BarrierOperation.INIT,
        BarrierOperation.ARRIVE,
        BarrierOperation.ARRIVE_DROP,
    )
    if state is None and operation is not BarrierOperation.INIT:
        return BarrierFault.NO_BARRIER
    if counts and not 1 <= operand <= MOST_ARRIVALS:
        return BarrierFault.COUNT
    if operation in WAITS and operand > 1:
        return BarrierFault.PARITY
    if state is None or operation in (BarrierOperation.INIT, BarrierOperation.INVAL):
        return BarrierFault.NONE
    after = changed(state, operation, operand)
    is_too_large = operation in BYTES and operand > MOST_TRANSACTION_BYTES
    if is_too_large or abs(after.bytes) > MOST_TRANSACTION_BYTES:
        return BarrierFault.BYTES
    if after.pending < 0:
        return BarrierFault.ARRIVALS
    return BarrierFault.DROPS if after.expected == 0 else BarrierFault.NONE


def packed_barrier(state: BarrierState | None) -> int:
    """Return the 8 bytes of a barrier as a number; they are 0 if there is none."""
    if state is None:
        return 0
    fields: dict[int | str, Any] = {name: getattr(state, name) for name in vars(state)}
    return BARRIER_LAYOUT.const(fields | {"mark": BARRIER_MARK}).as_value().value


def unpacked_barrier(word: int) -> BarrierState | None:
    """Return the state in 8 bytes, None if they are no barrier."""
    bits = BARRIER_LAYOUT.from_bits(word)
    if bits.mark != BARRIER_MARK:
        return None
    return BarrierState(
        pending=bits.pending, expected=bits.expected, bytes=bits.bytes, parity=bits.parity
    )
