"""Cycle formulas from the definition of the core: the expected values of the rows.

An instruction issues in the cycle in which it leaves its buffer. It enters a collector in the
next cycle and then reads one operand per cycle.
"""

from spica.hw.config import CoreConfig
from spica.hw.core.issue.scoreboard_events import release_delay
from spica.hw.isa.operations import Port

__all__ = [
    "CONTROL",
    "chain",
    "control",
    "gathering",
    "load_chain",
    "not_taken",
    "slots_held",
    "taken_branch",
    "to_port",
    "variable_chain",
]

#: Cycles from an instruction of `Port.CONTROL` to the next.
CONTROL = 2


def gathering(operands: int) -> int:
    """Return the cycles that an instruction occupies a collector, with all operands in banks."""
    return max(2, operands + 1)


def to_port(operands: int) -> int:
    """Return the cycles from issue until the port accepts the instruction."""
    return 1 + gathering(operands)


def chain(core: CoreConfig, port: Port, latency: int, operands: int) -> int:
    """Return the cycles from an instruction to the issue of its consumer.

    Each reads `operands` registers, one of them the result; the port has a lane for each thread.
    """
    if not core.snoop:
        # The result is in the banks in the cycle after the bus; then the consumer issues.
        return latency + 1 + to_port(operands)
    released = 1 + release_delay(core, port)
    if latency == 1:
        return released + to_port(operands)  # by then the result is in the banks
    # The result is in the collector in the cycle after the bus; other operands are in the banks.
    return max(latency + 1, released + to_port(operands - 1))


def variable_chain(core: CoreConfig, latency: int, operands: int) -> int:
    """Return the cycles of `chain` for ports that announce their results when they offer them.

    `latency` is counted from the port to the bus.
    """
    return latency + 1 + to_port(operands)


def load_chain(core: CoreConfig, latency: int) -> int:
    """Return the cycles from a load to the next load that uses its result as address.

    One cycle from the port to the request, two from the response to the bus. The result is
    announced one cycle before the bus.
    """
    return variable_chain(core, latency + 3, 1) - core.snoop


def slots_held(latency: int) -> int:
    """Return the cycles that a load or store occupies one of `CoreConfig.accesses`."""
    return latency + 3


def not_taken(operands: int) -> int:
    """Return the cycles from a branch that is not taken to the next instruction.

    The decision is one cycle after the port accepted it; the next instruction issues one cycle
    later.
    """
    return to_port(operands) + 2


def taken_branch(operands: int, latency: int) -> int:
    """Return the cycles from a taken branch to its target, with a fetch of `latency` cycles.

    The decision is the redirect; the target is in the buffer `latency` + 2 cycles later.
    """
    return to_port(operands) + 1 + latency + 2


def control(operands: int) -> int:
    """Return the cycles between control instructions that write a register.

    The result is on the bus two cycles after the port; once it is written, nothing is in flight.
    """
    return to_port(operands) + 2 + 1
