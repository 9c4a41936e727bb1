"""Golden model of the unit of transaction barriers, without timing."""

from dataclasses import dataclass

from .....hw.isa.memory_map import SHARED_BASE
from .....hw.isa.transaction_barrier import BARRIER_BYTES, BarrierFault, BarrierOperation
from .....hw.memory.barrier.layouts import BarrierUnitConfig
from .transaction_barrier import barrier_step, packed_barrier, unpacked_barrier

__all__ = ["BarrierAnswer", "BarrierUnitModel"]


@dataclass(frozen=True, kw_only=True)
class BarrierAnswer:
    """Answer to an operation.

    Attributes
    ----------
    result : int
    fault : BarrierFault
    completed : tuple of int, or None
        Number of the barrier and parity of the phase that has completed, if one has.

    """

    result: int
    fault: BarrierFault
    completed: tuple[int, int] | None


class BarrierUnitModel:
    """Golden model of `BarrierUnit`: shared memory, and operations one after the other.

    Attributes
    ----------
    words : dict of int to int
        8 bytes of shared memory by their number; those that are missing are 0.

    """

    def __init__(self, config: BarrierUnitConfig):
        self.config = config
        self.words: dict[int, int] = {}

    def execute(self, operation: BarrierOperation, address: int, operand: int) -> BarrierAnswer:
        """Execute an operation."""
        offset = address - SHARED_BASE
        if offset % BARRIER_BYTES or not 0 <= offset < self.config.shared.size:
            return BarrierAnswer(result=0, fault=BarrierFault.ADDRESS, completed=None)
        place = offset // BARRIER_BYTES
        state = unpacked_barrier(self.words.get(place, 0))
        outcome = barrier_step(state, operation, operand)
        changes = operation < BarrierOperation.TEST_WAIT
        if outcome.fault is BarrierFault.NONE and changes:
            self.words[place] = packed_barrier(outcome.state)
        completed = None
        if outcome.completed:
            assert state is not None
            completed = (place, state.parity)
        return BarrierAnswer(result=outcome.result, fault=outcome.fault, completed=completed)
