"""A top module for Verilator whose inputs change at an event of their own, between clock edges."""

from ...hw.emit.emission import Emission, EmittedPort
from ...hw.emit.emitter import domain_ports
from ..harness.binding import DRIVE, TOP

__all__ = ["driven_top"]


def driven_top(emission: Emission) -> str:
    """Return Verilog of a module that holds a design's inputs, resets too, in registers.

    Verilator evaluates all that hangs on an input in every evaluation, thus at clock edges too,
    though no input changes there; and on resets hang the next values of nearly all registers.
    Behind registers both are evaluated only when inputs are taken over. The ports are those of
    the design, and `DRIVE`.
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
    """Return whether a port is an input that is no clock."""
    return port.direction == "input" and port.name not in clocks


def bits(port: EmittedPort) -> str:
    """Return the range of a declaration."""
    return f"[{port.width - 1}:0] " if port.width > 1 else ""
