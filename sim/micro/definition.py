"""What the definition of the core says about cycles: the formulas behind the expectations.

An instruction is issued in the cycle in which it leaves its buffer. In the next a collector takes
it; it then asks for one operand per cycle.
"""

from ...hw.config import CoreConfig
from ...hw.core.operations import Port
from ...hw.core.scoreboard import release_delay

__all__ = [
    "CONTROL",
    "chain",
    "control",
    "gathering",
    "load_chain",
    "not_taken",
    "port_cycles",
    "slots_held",
    "taken",
    "to_port",
    "variable_chain",
]

#: Cycles from an instruction of `Port.CONTROL` to the next.
CONTROL = 2


def gathering(operands: int) -> int:
    """Return the cycles that an instruction keeps a collector, all operands being in the banks."""
    return max(2, operands + 1)


def to_port(operands: int) -> int:
    """Return the cycles from the issue of an instruction until its port takes it."""
    return 1 + gathering(operands)


def chain(core: CoreConfig, port: Port, latency: int, operands: int) -> int:
    """Return the cycles from an instruction to the next that needs its result.

    Each reads `operands` registers, one of them that result; the port has a lane for each thread.
    """
    if not core.snoop:
        # The result is in the banks in the cycle after the bus; then the next is issued.
        return latency + 1 + to_port(operands)
    released = 1 + release_delay(core, port)
    if latency == 1:
        return released + to_port(operands)  # by then it is in the banks
    # The result is in the collector in the cycle after the bus; the others come from the banks.
    return max(latency + 1, released + to_port(operands - 1))


def variable_chain(core: CoreConfig, latency: int, operands: int) -> int:
    """Return the same of ports whose results announce themselves when they come.

    `latency` is that from the port to the bus.
    """
    return latency + 1 + to_port(operands)


def load_chain(core: CoreConfig, latency: int) -> int:
    """Return the cycles from a load to the next that needs its result as an address.

    From the port to the request is a cycle, from the answer to the bus are two.
    """
    return variable_chain(core, latency + 3, 1)


def slots_held(latency: int) -> int:
    """Return the cycles that a load or store keeps one of `CoreConfig.accesses`."""
    return latency + 3


def port_cycles(core: CoreConfig, port: Port) -> int:
    """Return the cycles that a port takes for a warp, one beat in each."""
    return core.threads // core.lanes(port.name)


def not_taken(operands: int) -> int:
    """Return the cycles from a branch to the next instruction.

    The decision comes a cycle after the port took it; in the cycle after that the next is issued.
    """
    return to_port(operands) + 2


def taken(operands: int, latency: int) -> int:
    """Return the cycles from a branch to the instruction it leads to, fetched in `latency`.

    The decision is the redirect; it takes `latency` + 2 cycles until the instruction shows.
    """
    return to_port(operands) + 1 + latency + 2


def control(operands: int) -> int:
    """Return the cycles from a control instruction that writes a register to the next of its kind.

    The result comes two cycles after the port; when it is written, nothing is under way.
    """
    return to_port(operands) + 2 + 1
