"""Verilog wrapper for Verilator whose inputs change at a separate event between clock edges."""

from ...hw.emit.emission import Emission, EmittedPort
from ...hw.emit.module_ports import domain_ports
from ..harness.binding import DRIVE, TOP

__all__ = ["bits", "driven_top"]


def driven_top(emission: Emission) -> str:
    """Return the Verilog of a wrapper that holds a design's inputs and resets in registers.

    Verilator re-evaluates all logic that depends on an input in every evaluation. That includes
    clock edges, where no input changes, and resets feed the next value of nearly every register.
    Behind registers, this logic is evaluated only when `DRIVE` rises. The ports are those of the
    design, and `DRIVE`.
    """
    clocks = {domain_ports(domain)[0] for domain in emission.domains}
    held = [port for port in emission.ports if is_held(port, clocks)]
    connections = [
        f".{port.name}({port.name}{'_held' if port in held else ''})" for port in emission.ports
    ]
    return "\n".join([
        f"module {TOP}({', '.join([DRIVE, *(port.name for port in emission.ports)])});",
        f"  input {DRIVE};",
        *(f"  {port.direction} {bits(port)}{port.name};" for port in emission.ports),
        *(f"  reg {bits(port)}{port.name}_held;" for port in held),
        f"  always @(posedge {DRIVE}) begin",
        *(f"    {port.name}_held <= {port.name};" for port in held),
        "  end",
        f"  {emission.name} {emission.name} ({', '.join(connections)});",
        "endmodule",
        "",
    ])


def is_held(port: EmittedPort, clocks: set[str]) -> bool:
    """Return whether a port is an input other than a clock."""
    return port.direction == "input" and port.name not in clocks


def bits(port: EmittedPort) -> str:
    """Return the range of a declaration."""
    return f"[{port.width - 1}:0] " if port.width > 1 else ""
